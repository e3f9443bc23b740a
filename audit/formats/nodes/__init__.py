"""Listings of a site's machines: the output of ``scontrol``, ``sinfo`` and ``pbsnodes``."""
