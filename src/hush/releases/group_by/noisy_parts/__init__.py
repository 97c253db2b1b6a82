"""The parts of a grouped query: what each reads, what one unit moves, and its noise."""
