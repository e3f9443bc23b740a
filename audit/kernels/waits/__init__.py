"""The account of waits."""
