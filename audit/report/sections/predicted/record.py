"""How good the predicted starts of a pool were (SPEC §13)."""

from dataclasses import dataclass
from typing import NamedTuple


class Predicted(NamedTuple):
    """How often predicted starts of one kind were right; times in s, None: none were made."""

    kind: str  # submission | pending
    contested: bool  # whether the median was more than a minute ahead
    dimension: str  # all | month | width | walltime
    label: str  # of the class
    predictions: int  # that were not withheld
    withheld: int
    right_share: float | None
    early_share: float | None
    late_share: float | None
    error_s: float | None  # medians of absolute errors: of the predictions
    recent_error_s: float | None  # of the median of the last 200 waits
    alike_error_s: float | None  # of the median of the last 20 waits of similar jobs
    modelled_error_s: float | None  # of the model alone


@dataclass(frozen=True, slots=True)
class Predictions:
    """How good the predicted starts of a pool were."""

    rows: tuple[Predicted, ...] = ()
