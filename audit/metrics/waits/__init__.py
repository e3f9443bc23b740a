"""The walk through a queue at each instant, and the plan that starts agree with (SPEC §11)."""
