"""Mechanisms made of others: repeated, in sequence, side by side, for groups."""
