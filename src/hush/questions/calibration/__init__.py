"""What calibration seeks on, and where it starts."""
