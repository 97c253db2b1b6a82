"""Kinds of layers: what each adds to an example's gradient, by a rule."""
