"""Mechanisms that stand for themselves: noise, choices, posteriors, stated guarantees."""
