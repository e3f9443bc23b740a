"""Measurements of fairaudit, synthetic logs for them, and pages of docs/ that take long."""
