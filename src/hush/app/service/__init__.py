"""The server behind the page: who may ask, the workers that answer, and every question that the page has."""
