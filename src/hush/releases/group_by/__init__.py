"""Statistics by group in one query: keys given or not known, whole users, one budget, a table as the answer."""
