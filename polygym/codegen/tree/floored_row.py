"""What the values of loops are sums of: rows of a schedule, or the numbers of tiles along them."""

from __future__ import annotations

from dataclasses import dataclass

from polygym.cached_hash import CachedHash, cache_hash
from polygym.poly.schedule import ScheduleRow


@cache_hash
@dataclass(frozen=True, slots=True)
class FlooredRow(CachedHash):
    """⌊row / size⌋ with a row for every statement, in the order of ``Band.statements``.

    At size 1 it is the row itself, else the number of a tile of so many points.
    """

    rows: tuple[ScheduleRow, ...]
    size: int = 1
