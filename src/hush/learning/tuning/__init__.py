"""Tuning with privacy: a secret number of runs, of which only the best is kept."""
