"""Ways to the law of a sum of losses: contour integrals, lattices, term by term."""
