"""Audits of one training run with many canaries."""
