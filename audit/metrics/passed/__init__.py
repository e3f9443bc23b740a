"""The test of *passed over* (SPEC §11): limits that forbid attempts, shares beyond expectation."""
