"""Where records come from: one folder for arrays, data frames and files."""
