"""Survey designs: strata, clusters, two stages, every k-th record; what of their privacy is proven."""
