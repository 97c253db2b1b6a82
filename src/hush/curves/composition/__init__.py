"""Composition: products of pairs, and the ways to their delta and epsilon."""
