"""Pages of docs/ that a program writes."""
