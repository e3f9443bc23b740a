"""What is measured; each module has ``measure``, and RUN lists them (``bench.run``)."""
