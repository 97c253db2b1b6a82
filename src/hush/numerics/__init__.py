"""Plain mathematics, unaware of privacy: laws of a loss, contour integrals, lattices, roots."""
