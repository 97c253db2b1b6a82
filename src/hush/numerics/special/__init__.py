"""Special functions and certified sums of them."""
