"""A corpus as a Parquet file: a row for every row, columns for all that is known of it.

That is enough to compute features again: ``text`` is the source of a program that is a file,
``planned_for`` that for which loops are planned on the machine, as JSON.
"""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from polygym.errors import InputError
from polygym.files import atomic_file, create_parent_folder
from polygym.search.corpus.statistics import program_kind
from polygym.search.corpus.store import Corpus


def export_parquet(corpus: Corpus, path: Path) -> int:
    """Write all rows, and return how many there are.

    Raises:
        InputError: there is no pyarrow, or the corpus would be replaced.
        OSError: the file cannot be written.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise InputError(
            "Parquet files need the package pyarrow: pip install 'polygym[cost]'"
        ) from None
    corpus.expect_another(path)
    create_parent_folder(path)
    fingerprints = {
        key: json.dumps(asdict(fingerprint)) for key, fingerprint in corpus.machines().items()
    }
    planned_for = {
        key: json.dumps(asdict(machine)) for key, machine in corpus.planned_for().items()
    }
    columns: dict[str, list[Any]] = {}
    count = 0
    for stored_row in corpus.all():
        visit, row = stored_row.visit, stored_row.row
        values = {
            "program": visit.case.program,
            "kind": program_kind(visit.case.program),
            "text": visit.text,
            "function": visit.case.function,
            "splitting": visit.case.splitting,
            "storage": visit.case.storage,
            "parameters": json.dumps(dict(visit.case.parameters)),
            "threads": visit.threads,
            "machine": visit.machine,
            "fingerprint": fingerprints[visit.machine],
            "planned_for": planned_for[visit.machine],
            "seed": visit.seed,
            "visit": visit.number,
            "moment": visit.moment,
            "background_load": visit.background_load,
            "schedule": row.schedule,
            "mapping": row.mapping,
            "achieved": row.achieved,
            "status": row.status.value,
            "seconds": row.seconds,
            "baseline_seconds": row.baseline_seconds,
            "speedup": row.speedup,
            "detail": row.detail,
        }
        for name, value in values.items():
            columns.setdefault(name, []).append(value)
        count += 1
    with atomic_file(path) as beside:
        pyarrow.parquet.write_table(pyarrow.table(columns), beside, compression="zstd")
    return count
