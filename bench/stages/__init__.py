"""The stages that are measured; each module has ``measure``, and ``bench.run`` lists them."""
