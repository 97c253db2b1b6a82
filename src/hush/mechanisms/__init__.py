"""What ran: immutable expressions that show a dominating pair, or a Rényi curve."""
