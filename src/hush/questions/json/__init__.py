"""JSON in and out: strict when it is read."""
