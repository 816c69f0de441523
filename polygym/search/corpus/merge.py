"""Two corpora in one: what both have is there once, and rows of different machines stay apart."""

from dataclasses import replace

from polygym.search.corpus.store import Corpus


def merge_corpora(into: Corpus, other: Corpus) -> int:
    """Add what another corpus has, and return how many rows were new.

    A visit that both have is one visit, if it is of the same case; else the other one's gets a
    number of its own, below 0, which no collection takes.

    Raises:
        InputError: one of them is damaged, or both are the same.
    """
    into.expect_another(other.path)
    for corpus in (into, other):
        corpus.expect_whole()
    planned_for = other.planned_for()
    for key, machine in other.machines().items():
        into.add_machine(machine, planned_for[key])
    return _copy(into, other)


def _copy(into: Corpus, other: Corpus) -> int:
    added = 0
    for visit, rows in other.visits():
        moved = visit
        while into.visit_contents(moved.key) not in (None, (visit.case, visit.text)):
            moved = replace(moved, number=min(moved.number, 0) - 1)
        number = into.begin(moved)
        for row in rows:
            added += into.add(number, row)
        if visit.number in other.finished(visit.machine, visit.threads, visit.seed):
            into.finish(number, visit.background_load)
    known = set(into.clocks())
    for clock in other.clocks():
        if clock not in known:
            into.add_clock(*clock)
    return added
