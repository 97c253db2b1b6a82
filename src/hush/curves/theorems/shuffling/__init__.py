"""Theorems on local reports in random order."""
