"""Ids of users as small whole numbers, all of a batch at once: no Python object per id."""
