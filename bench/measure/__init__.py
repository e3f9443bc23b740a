"""How it is measured, and what is made of the figures: the same for all stages."""
