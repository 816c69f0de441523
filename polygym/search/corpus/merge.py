"""Two corpora in one: what both have is there once, and rows of different machines stay apart."""

from __future__ import annotations

from dataclasses import replace

from polygym.search.corpus.store import Corpus


def merge(into: Corpus, other: Corpus) -> int:
    """Add what another corpus has, and return how many rows were new.

    A visit of the same seed and number that both have of the same kind of machine is one visit, if
    it is of the same case; else the other one's gets a number of its own.
    """
    before = into.count()
    for machine in other.machines().values():
        into.add_machine(machine)
    _copy(into, other)
    return into.count() - before


def _copy(into: Corpus, other: Corpus) -> None:
    numbers: dict[tuple[str, int, int], int] = {}
    next_place = _highest(into) + 1
    for found in other.all():
        visit = found.visit
        key = (visit.machine, visit.seed, visit.number)
        if key not in numbers:
            taken = into.connection.execute(
                "SELECT 1 FROM visits WHERE machine = ? AND seed = ? AND place = ?", key
            ).fetchone()
            moved = visit
            if taken is not None:
                moved = replace(visit, number=next_place)
                next_place += 1
            numbers[key] = into.begin(moved)
            into.finish(numbers[key], visit.others)
        place = into.connection.execute(
            "SELECT coalesce(max(place) + 1, 0) FROM rows WHERE visit = ?", (numbers[key],)
        ).fetchone()[0]
        into.add(numbers[key], int(place), found.row)
    query = "SELECT machine, moment, seconds FROM clocks"
    known = set(into.connection.execute(query).fetchall())
    for clock in other.connection.execute(query).fetchall():
        if clock not in known:
            into.tick(*clock)


def _highest(corpus: Corpus) -> int:
    query = "SELECT coalesce(max(place), 0) FROM visits"
    return int(corpus.connection.execute(query).fetchone()[0])
