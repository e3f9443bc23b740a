"""Limits that the log shows."""
