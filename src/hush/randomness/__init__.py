"""Random bits, and exact draws made of them; unaware of privacy."""
