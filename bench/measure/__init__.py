"""Measuring and evaluating figures, in the same way for all stages."""
