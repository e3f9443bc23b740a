"""What a report was made from."""

from typing import NamedTuple


class Provenance(NamedTuple):
    """The program, configuration and inputs that a report was made from."""

    version: str
    config_hash: str
    input_hash: str
    run_id: str
