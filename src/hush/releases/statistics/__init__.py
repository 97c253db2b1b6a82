"""What can be asked of records: one query per file."""
