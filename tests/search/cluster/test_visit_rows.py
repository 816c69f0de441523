"""A node's corpus sends every row that a visit adds, and counts it."""

from __future__ import annotations

from polygym.measure.worker.outcome import Status
from polygym.search.cluster.jobs import Json
from polygym.search.cluster.visit_task import SendingCorpus, row_from_json
from polygym.search.corpus.collect import Collection, CollectPlan
from polygym.search.corpus.rows import Row


def test_what_a_visit_adds_is_sent_and_counted() -> None:
    sent: list[Json] = []
    rows = [Row("schedule", f"tile={size}", "", Status.OK, 0.5, 1.0, "") for size in (4, 8)]
    with SendingCorpus(sent.append, ()) as corpus:
        collection = Collection(corpus, CollectPlan(rows=10))
        for row in rows:
            collection.keep(0, row)
        assert (collection.added, collection.rows, collection.measured) == (2, 2, 2)
    assert [row_from_json(one) for one in sent] == rows
