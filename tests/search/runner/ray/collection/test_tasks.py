"""A node's corpus sends every row that a visit adds, and counts it."""

from __future__ import annotations

from polygym.runtime.worker.outcome import OutcomeStatus
from polygym.search.corpus.collector import Collection, CollectPlan
from polygym.search.corpus.rows import CorpusRow
from polygym.search.runner.ray.collection import ForwardingCorpus, row_from_json
from polygym.search.runner.ray.fleet.jobs import Json


def test_what_a_visit_adds_is_sent_and_counted() -> None:
    sent: list[Json] = []
    rows = [
        CorpusRow("schedule", f"tile={size}", "", OutcomeStatus.OK, 0.5, 1.0, "") for size in (4, 8)
    ]
    with ForwardingCorpus(sent.append, ()) as corpus:
        collection = Collection(corpus, CollectPlan(rows=10))
        for row in rows:
            collection.add_row(0, row)
        assert (collection.added, collection.rows, collection.measured) == (2, 2, 2)
    assert [row_from_json(json) for json in sent] == rows
