"""Proof that a change of the code changes no figure: `make same`."""
