"""What the values of loops are sums of: rows of a schedule, or the numbers of tiles along them."""

from __future__ import annotations

from dataclasses import dataclass

from polygym.compiler.poly.schedule import Row
from polygym.kept_hash import Hashed, keeps_hash


@keeps_hash
@dataclass(frozen=True, slots=True)
class Part(Hashed):
    """⌊row / size⌋ with a row for every statement, in the order of ``Band.statements``.

    At size 1 it is the row itself, else the number of a tile of so many points.
    """

    rows: tuple[Row, ...]
    size: int = 1
