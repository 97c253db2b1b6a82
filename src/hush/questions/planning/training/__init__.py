"""Plans of training runs: the noise, what a run means, and other batch sizes."""
