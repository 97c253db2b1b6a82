"""Reports that are private before they leave a person's hands, and shuffles of them."""
