"""Dominating pairs: each kind, and what is made of them."""
