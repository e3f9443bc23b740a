"""Writers of dialects, for measurements and tests: the inverse of what each dialect reads."""
