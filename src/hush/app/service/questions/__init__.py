"""Every question of the page, each a few lines around functions of the library; what they give is plain data."""
