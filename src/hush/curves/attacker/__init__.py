"""The best attacker: tests between the two laws of a pair, and the certified curve of their errors."""
