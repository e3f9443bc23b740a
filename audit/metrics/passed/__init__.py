"""The test of *passed over*: limits that forbid attempts, and shares beyond expectation (SPEC §11)."""
