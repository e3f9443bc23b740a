"""Listings of a site's machines: what ``scontrol``, ``sinfo`` and ``pbsnodes`` print of them."""
