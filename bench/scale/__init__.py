"""How times and memory grow, in docs/scale.md."""
