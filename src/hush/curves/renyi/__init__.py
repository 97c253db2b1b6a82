"""Rényi curves: the divergence at every order, where it comes from and what it converts to."""
