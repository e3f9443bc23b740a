"""What is measured of fairaudit, the made-up logs for it, and pages of docs/ that take long."""
