"""Training on several processes: who takes part, what they agree on, and who draws which records."""
