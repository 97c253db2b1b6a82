"""Linear models trained with privacy: losses, methods, and estimators in scikit-learn's style."""
