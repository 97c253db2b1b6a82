"""How answers get their noise."""
