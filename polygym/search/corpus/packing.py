"""Corpora as small files to be handed on: the bytes of the database, compressed.

Four corpora come with polygym (:data:`SHIPPED_CORPORA`), made by ``polygym corpus pack`` from what
several kinds of machines have measured; what is learned anywhere can be learned from them too. A
row of the large one takes 64 bytes so, where the database needs 443; of the near one 49 and 294.

A packed file is not trusted: what comes out of it is bounded in size, and is opened as a corpus and
checked before it has its name.

Of two corpora that are merged, what both have is there once, and rows of different machines stay
apart.

A corpus as a Parquet file has a row for every row, columns for all that is known of it. That is
enough to compute features again: ``text`` is the source of a program that is a file,
``planned_for`` that for which loops are planned on the machine, as JSON.
"""

import json
import lzma
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from polygym.errors import InputError, MissingLibraryError
from polygym.files import atomic_file, create_parent_folder, write_atomically
from polygym.search.corpus.statistics import program_kind
from polygym.search.corpus.store import Corpus, open_corpus
from polygym.sqlite_files import sqlite_errors

LARGE_FILE = Path(__file__).parent / "corpus.sqlite.xz"
"""The large corpus that comes with polygym."""

NEAR_FILE = Path(__file__).parent / "near.sqlite.xz"
"""One more, of what is near isl's schedule and the default mapping: what policies learn from."""

STORAGE_VARIANTS_FILE = Path(__file__).parent / "storage_variants.sqlite.xz"
"""One more, of random programs with scalars and small arrays in all their storage variants."""

FROM_ORIGINAL_FILE = Path(__file__).parent / "from_original.sqlite.xz"
"""One more, of what episodes reach that edit the original order: what rewards learn from."""


@dataclass(frozen=True, slots=True)
class ShippedCorpus:
    """A corpus that comes with polygym: its file, how many rows it has, and what is in it."""

    path: Path
    rows: int
    about: str


SHIPPED_CORPORA = {
    "large": ShippedCorpus(LARGE_FILE, 28_469, "of several kinds of machines"),
    "storage-variants": ShippedCorpus(
        STORAGE_VARIANTS_FILE, 4_229, "of programs with scalars in all storage variants"
    ),
    "near": ShippedCorpus(NEAR_FILE, 3_469, "near isl's schedule, of the code as it is now"),
    "from-original": ShippedCorpus(
        FROM_ORIGINAL_FILE, 2_725, "of what episodes from the original order reach"
    ),
}
"""The corpora that come with polygym, by what they are called."""

POLICY_CORPORA = ("large", "storage-variants", "near")
"""Those that the policy ``learned`` and the trees beside it learn from.

The last says what promises are worth (:mod:`polygym.agents.pretraining.calibration`), so it is one
of kernels, too.
"""

_MAX_BYTES = 1 << 30
_EXPECTED = "a whole corpus"


def pack(corpus: Corpus, path: Path) -> int:
    """Write a corpus as a small file, and return how many bytes it has.

    Raises:
        InputError: the corpus is damaged, or would be replaced.
    """
    corpus.expect_another(path)
    create_parent_folder(path)
    corpus.expect_whole()
    with sqlite_errors(corpus.path, _EXPECTED), closing(sqlite3.connect(":memory:")) as copy:
        corpus.connection.backup(copy)
        copy.execute("VACUUM")
        contents = copy.serialize()
    packed = lzma.compress(contents, preset=9 | lzma.PRESET_EXTREME)
    write_atomically(path, packed)
    return len(packed)


def unpack(path: Path, into: Path) -> int:
    """Write the corpus that is in a small file, and return how many rows it has.

    Raises:
        InputError: there is no corpus in it, or ``into`` is there already.
    """
    if into.exists():
        raise InputError(
            f"{into}: expected no such file yet, found one; `polygym corpus merge` adds to corpora"
        )
    create_parent_folder(into)
    try:
        decompressor = lzma.LZMADecompressor(format=lzma.FORMAT_XZ)
        contents = decompressor.decompress(path.read_bytes(), _MAX_BYTES)
    except FileNotFoundError:
        raise InputError(f"{path}: expected a packed corpus, found no such file") from None
    except (lzma.LZMAError, EOFError) as error:
        raise InputError(
            f"{path}: expected a packed corpus, found something else: {error}"
        ) from None
    if not decompressor.eof or decompressor.unused_data:
        raise InputError(
            f"{path}: expected a whole packed corpus of up to {_MAX_BYTES >> 20} MB, found more, "
            "or less than one"
        )
    try:
        with atomic_file(into, allow_replace=False) as beside:  # others may begin one
            beside.write_bytes(contents)
            with open_corpus(beside) as corpus:
                if defects := corpus.check():
                    raise InputError(f"{path}: expected {_EXPECTED}, found {defects[0]}")
                rows = corpus.count()
    except FileExistsError:
        raise InputError(f"{into}: expected no such file yet, found one") from None
    return rows


@contextmanager
def open_packed(path: Path) -> Iterator[Corpus]:
    """Inside, a corpus can be read: a packed file (``.xz``), or a database as it is.

    Raises:
        InputError: there is no corpus in it.
    """
    if path.suffix != ".xz":
        with open_corpus(path) as corpus:
            yield corpus
        return
    with TemporaryDirectory() as folder:
        unpacked = Path(folder, "corpus.sqlite")
        unpack(path, unpacked)
        with open_corpus(unpacked) as corpus:
            yield corpus


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
        raise MissingLibraryError("Parquet files", "pyarrow", "cost") from None
    corpus.expect_another(path)
    create_parent_folder(path)
    fingerprints = {key: json.dumps(asdict(kind)) for key, kind in corpus.machines().items()}
    planned_for = {key: json.dumps(asdict(kind)) for key, kind in corpus.planned_for().items()}
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
