"""Audits of one training run with many canaries: records that are put in or left out by coins."""
