"""Numbers from data: counts, sums, means and quantiles with secure noise, on all records or on a secret sample."""
