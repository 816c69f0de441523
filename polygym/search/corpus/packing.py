"""Corpora as small files to be handed on: the bytes of the database, compressed.

Three corpora come with polygym (:data:`SHIPPED_CORPORA`), made by ``polygym corpus pack`` from what
several kinds of machines have measured; what is learned anywhere can be learned from them too. A
row of the large one takes 64 bytes so, where the database needs 443; of the near one 49 and 294.

A packed file is not trusted: what comes out of it is bounded in size, and is opened as a corpus and
checked before it has its name.
"""

import lzma
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from polygym.errors import InputError
from polygym.files import atomic_file, create_parent_folder, write_atomically
from polygym.search.corpus.store import Corpus, open_corpus
from polygym.sqlite_files import sqlite_errors

LARGE_FILE = Path(__file__).parent / "corpus.sqlite.xz"
"""The large corpus that comes with polygym."""

NEAR_FILE = Path(__file__).parent / "near.sqlite.xz"
"""One more, of what is near isl's schedule and the default mapping: what policies learn from."""

STORAGE_VARIANTS_FILE = Path(__file__).parent / "storage_variants.sqlite.xz"
"""One more, of random programs with scalars and small arrays in all their storage variants."""


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
}
"""The corpora that come with polygym, by what they are called; what is learned is learned from all.

The last says what promises are worth (:mod:`agents.pretraining.calibration`), so it is one of
kernels, too.
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
                if found := corpus.check():
                    raise InputError(f"{path}: expected {_EXPECTED}, found {found[0]}")
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
