"""How much is revealed: relations, bounds, dominating pairs, Rényi curves and what follows from them."""
