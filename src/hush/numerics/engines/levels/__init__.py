"""Levels: the third engine, for sums in which single losses are rare and large."""
