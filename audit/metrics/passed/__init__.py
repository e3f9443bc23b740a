"""The test of *passed over*: what limits forbid, and shares beyond expected ones (SPEC §11)."""
