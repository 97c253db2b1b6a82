"""The mean of independent lognormals: its transform, moments and both of its tails."""
