"""The numbers of tiles: what tells some of them from the others, and how long isl may take."""

import os
import signal
import time

import islpy as isl

from polygym.codegen.tree.analysis.tile_coordinates import separating_conditions

# The tiles of three statements in loops of lu that are skewed by 17 to 11: isl thinks for minutes
# of their convex hull, whatever the bound on its operations is.
SKEWED = (
    "{ [i0, i1, i2, i3] : i1 <= 10 and 11i1 >= -10 + 7i0 and 7i2 <= 9 + 10i1 and 11i3 >= "
    "-10 + 17i0 and ((i0 >= -1 and 11i1 <= 39 + 5i0 and -10 + 10i0 <= 11i2 <= 9 + 10i0 and "
    "i3 >= 0 and 5i3 >= -14 + 13i1 and 7i3 <= 16 + 17i1 and 10i3 >= -10 + 20i1 + 3i2 and -9 "
    "+ 17i2 <= 10i3 <= 75 + 13i2 and 10i3 <= 22 + 20i1 + 3i2 and -11 + 3i0 + 22i1 <= 11i3 "
    "<= 24 + 3i0 + 22i1 and 11i3 <= 81 + 13i0) or (i1 >= 0 and i2 <= i0 and 7i2 >= -6 + 4i1 "
    "and 11i2 >= -10 + 10i0 and -48 + 42i0 + 4i1 <= 49i2 <= 45 + 42i0 + 4i1 and i3 >= i1 "
    "and 7i3 <= 36 + 15i1 and 11i3 <= 49 + 15i0 and -20 + i1 + 35i2 <= 21i3 <= 100 - 5i1 + "
    "35i2 and -48 + 70i0 + 9i1 <= 49i3 <= 222 + 70i0 - 5i1) or (i0 >= 0 and 4i1 <= 15 + 3i0 "
    "and 7i1 <= 44 + 2i0 and 2i2 >= -1 + i0 and 3i2 >= -4 + 4i0 - 2i1 and 7i2 >= -34 + 8i0 "
    "and 11i2 <= 10 + 10i0 and 13i2 <= 76 + 20i0 - 18i1 and i3 >= -1 + 2i1 - i2 and 2i3 >= "
    "-47 + 9i1 and 7i3 <= 16 + 17i1 and 8i3 <= 80 + 9i2 and 9i3 >= -18 + 23i0 - 10i2 and "
    "-22 - 13i0 + 18i1 + 17i2 <= 9i3 <= 34 - 13i0 + 18i1 + 17i2 and 9i3 <= 66 + 7i0 + 4i2 "
    "and -9 + 17i2 <= 10i3 <= 22 + 20i1 + 3i2 and 11i3 <= 24 + 3i0 + 22i1 and 11i3 <= 81 + "
    "13i0 and 13i3 <= 124 + 19i0 - 8i1 and 20i3 <= 113 + 14i1 + 19i2 and 27i3 >= -26 + 29i0 "
    "+ 20i1 and 36i3 >= -36 + 46i1 + 29i2)) } "
)


def is_told(free: isl.Set, inside: dict[str, isl.Set]) -> bool:
    """Whether the conditions hold in the free tiles, and in no others with instances."""
    conditions = separating_conditions(free, inside)
    assert conditions is not None
    every = isl.Set.empty(free.get_space())
    for tiles in inside.values():
        every = every.union(tiles)
    names = [f"t{k}" for k in range(free.dim(isl.dim_type.set))]
    there = isl.Set.empty(free.get_space())
    for each in conditions:
        sums = [
            " + ".join(f"{c}{n}" for c, n in zip(factors, names, strict=True))
            for factors, _ in each
        ]
        holds = " and ".join(
            f"{own} + {rest} >= 0" for own, (_, rest) in zip(sums, each, strict=True)
        )
        there = there.union(isl.Set(f"{{ [{', '.join(names)}] : {holds} }}"))
    return bool(there.intersect(every).is_equal(free))


def test_what_is_told_is_free_and_nothing_else() -> None:
    first = isl.Set("{ [a, b] : 0 <= b <= a < 9 }")
    second = isl.Set("{ [a, b] : 0 <= a <= b < 9 }")
    assert is_told(isl.Set("{ [a, b] : 0 <= b < a < 9 }"), {"S": first, "T": second})


def test_skewed_tiles_take_no_time() -> None:
    every = isl.Set(SKEWED)
    free = every.intersect(isl.Set("{ [a, b, c, d] : b < a }"))
    child = os.fork()
    if not child:  # isl cannot be interrupted from Python
        right = False
        try:
            right = is_told(free, {"S": every})
        finally:
            os._exit(int(not right))
    until = time.monotonic() + 60
    while (ended := os.waitpid(child, os.WNOHANG))[0] == 0:
        if time.monotonic() > until:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            raise AssertionError("isl still thinks after a minute")
        time.sleep(0.02)
    assert ended[1] == 0
