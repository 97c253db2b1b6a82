"""Theorems on amplification that need more than a mix, a swap or a product."""
