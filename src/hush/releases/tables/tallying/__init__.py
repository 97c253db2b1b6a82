"""Whole numbers per group in this process: batches of any reader, in memory for the groups and users alone."""
