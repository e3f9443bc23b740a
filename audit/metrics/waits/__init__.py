"""The walk through a pool's queue at each instant, and the plan that explains it best (SPEC §11)."""
