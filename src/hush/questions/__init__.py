"""What people ask: how much noise, why this number, in plain words, and how to keep it."""
