"""The figures and experiments of the papers that hush was built from; `hush figures` makes them."""
