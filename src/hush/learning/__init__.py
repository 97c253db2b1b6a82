"""Models from data, trained with privacy."""
