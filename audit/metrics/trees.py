"""Share trees: who may use which part of what is its account's (SPEC §7)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Tree(NamedTuple):
    """Accounts and users, each below its account; node 0 is the root, which is an account.

    A user is a leaf below each account that it belongs to, so its name may stand at several nodes.
    Parents come before their children.
    """

    names: tuple[str, ...]
    """Of account or user."""
    kinds: tuple[str, ...]
    """``"account"`` or ``"user"``."""
    partitions: tuple[str | None, ...]
    """Of a user's node: the one partition whose attempts it is for; None: all others."""
    parents: Ints
    """Index of each node's account; −1: the root."""
    shares: Floats
    """Raw shares ≥ 0, relative to those of the siblings; NaN: a user that competes with its
    account's siblings instead (Slurm's fairshare=parent)."""
