"""When the next release still fits, though it was chosen after seeing the last answers: one filter per theorem."""
