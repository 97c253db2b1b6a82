"""What builds the site: formulas set as MathML, a page per public name, and a menu that follows the files."""
