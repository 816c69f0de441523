"""Kernels on the disk: found by all that need the same, and never trusted blindly."""

import io
import json
import multiprocessing
import os
import sqlite3
import subprocess
import sys
import time
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from polygym.cli import dispatch
from polygym.errors import InputError
from polygym.frontend.tc import parse_definitions
from polygym.mapping.mapping import parse_mapping
from polygym.tc import cache as module
from polygym.tc.cache import (
    CACHE_FORMAT,
    CacheEntry,
    CacheWarning,
    KernelCache,
    entries_from_text,
    text_of_entries,
    user_cache,
)
from polygym.tc.comprehension import define
from polygym.tc.similar_kernels import canonical_text

MM = "def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }"
# The same with other names.
OTHER = "def product(float(I,J) X, float(J,L) Y) -> (Z) { Z(a,b) +=! X(a,c) * Y(c,b) }"
A, B = np.ones((3, 4), np.float32), np.ones((4, 2), np.float32)
ENTRY = CacheEntry("key", "{ S[i] -> [i] }", "f(M=3)", "default", None, "{}", b"code")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("POLYGYM_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that grows with every compilation."""
    seen: list[str] = []
    original = module.KernelCache.put

    def put(self: module.KernelCache, entry: module.CacheEntry) -> bool:
        seen.append(entry.label)
        return original(self, entry)

    monkeypatch.setattr(module.KernelCache, "put", put)
    return seen


def test_names_do_not_matter(compiled: list[str]) -> None:
    assert (define(MM)(A, B) == 4).all()
    assert (define(MM)(A, B) == 4).all()
    assert (define(OTHER)(A, B) == 4).all()
    assert compiled == ["mm(M=3, K=4, N=2)"]


def test_everything_else_does(compiled: list[str]) -> None:
    define(MM)(A, B)
    define(MM)(A[:2], B)
    define(MM, threads=2)(A, B)
    define(MM.replace("+=!", "max=!"))(A, B)
    define(MM.replace("float", "double"))(A.astype(float), B.astype(float))
    assert len(compiled) == 5


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (MM, OTHER, True),
        (MM, MM.replace("m,n", "n,m"), False),
        (MM, MM.replace("A(m,k) * B(k,n)", "B(k,n) * A(m,k)"), False),
        (
            "def f(float(N) A) -> (B) { B(i) = x where x = sqrt(A(i)), exists A(i) }",
            "def g(float(M) C) -> (D) { D(j) = y where y = sqrt(C(j)), exists C(j) }",
            True,
        ),
        (
            "def f(float(N) A) -> (B) { B(i) = A(i) where i in 0:3 }",
            "def f(float(N) A) -> (B) { B(i) = A(i) where i in 0:2 }",
            False,
        ),
        (
            "def f(float(N) A) -> (B) { T(i) = A(i) B(i) = T(i) }",
            "def f(float(N) A) -> (T) { T(i) = A(i) B(i) = T(i) }",
            False,
        ),
    ],
)
def test_canonical_texts(one: str, other: str, same: bool) -> None:
    texts = [canonical_text(parse_definitions(text)[0]) for text in (one, other)]
    assert (texts[0] == texts[1]) is same


def test_the_fastest_version_is_taken(folder: Path) -> None:
    cache = KernelCache(folder / "x.sqlite")
    assert cache.fastest("key") is None
    cache.put(ENTRY)
    for number, seconds in enumerate((0.3, 0.1, 0.2)):
        cache.put(CacheEntry("key", f"s{number}", "f", "default", seconds, "{}", b"%d" % number))
    cache_entry = cache.fastest("key")
    assert cache_entry is not None
    assert (cache_entry.seconds, cache_entry.code) == (0.1, b"1")
    assert len(cache.entries()) == 4
    assert cache.fastest("another") is None
    assert cache.clear() == 4
    assert cache.entries() == []


@pytest.mark.parametrize("column", ["code", "recipe", "mapping", "digest", "schedule"])
def test_a_damaged_entry_is_ignored_with_a_warning(folder: Path, column: str) -> None:
    define(MM)(A, B)
    (path,) = folder.glob("*.sqlite")
    with sqlite3.connect(path) as connection:
        connection.execute(f"UPDATE kernels SET {column} = 'garbage'")
    connection.close()
    with pytest.warns(CacheWarning, match="damaged: ignored"):
        assert (define(MM)(A, B) == 4).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (define(MM)(A, B) == 4).all()  # it has been made anew


def test_code_that_is_none(folder: Path) -> None:
    operator = define(MM)
    operator(A, B)
    cache = user_cache()
    assert cache is not None
    entry = cache.entries()[0]
    for code in (b"", b"\x7fELF nonsense", entry.code[: len(entry.code) // 2]):
        cache.clear()
        cache.put(
            CacheEntry(entry.key, entry.schedule, "f", entry.mapping, None, entry.recipe, code)
        )
        with pytest.warns(CacheWarning, match="is not used"):
            assert (define(MM)(A, B) == 4).all()


@pytest.mark.parametrize("content", [b"", b"no database" * 1000])
def test_a_file_that_is_no_cache(folder: Path, content: bytes) -> None:
    folder.mkdir()
    path = folder / f"comprehensions-{CACHE_FORMAT}.sqlite"
    path.write_bytes(content)
    path.chmod(0o600)
    if not content:
        assert (define(MM)(A, B) == 4).all()
        return
    with pytest.warns(CacheWarning, match=r"not (used|kept): .*not a database"):
        assert (define(MM)(A, B) == 4).all()


def test_a_file_that_others_can_write(folder: Path) -> None:
    define(MM)(A, B)
    (path,) = folder.glob("*.sqlite")
    assert path.stat().st_mode & 0o077 == 0
    path.chmod(0o666)
    with pytest.warns(CacheWarning, match="only its owner can write"):
        assert (define(MM)(A, B) == 4).all()


def test_a_folder_in_which_nothing_can_be_written(
    folder: Path, compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is there is used, and nothing is written beside it; what is new is compiled."""
    define(MM)(A, B)
    access = os.access
    monkeypatch.setattr(
        os, "access", lambda path, mode: mode != os.W_OK and access(path, mode)
    )  # the superuser may write anywhere
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (define(MM)(A, B) == 4).all()
    assert compiled == ["mm(M=3, K=4, N=2)"]
    folder.chmod(0o555)
    try:
        with pytest.warns(CacheWarning, match="not kept: nothing can be written in its folder"):
            assert (define(MM)(A[:2], B) == 4).all()
    finally:
        folder.chmod(0o755)
    assert [entry.name for entry in folder.iterdir()] == [f"comprehensions-{CACHE_FORMAT}.sqlite"]
    cache = user_cache()
    assert cache is not None
    assert len(cache.entries()) == 1


def test_the_command_says_a_warning_once_and_plainly(folder: Path) -> None:
    folder.mkdir()
    path = folder / f"comprehensions-{CACHE_FORMAT}.sqlite"
    path.write_text("junk" * 100)
    path.chmod(0o600)
    command = [sys.executable, "-m", "polygym", "cache", "list"]
    process = subprocess.run(command, capture_output=True, text=True, check=True)
    (said,) = process.stderr.splitlines()
    assert said.startswith(f"warning: {path}: not used: file is not a database; `polygym cache cl")


def test_switched_off(monkeypatch: pytest.MonkeyPatch, compiled: list[str]) -> None:
    monkeypatch.setenv("POLYGYM_CACHE", "off")
    define(MM)(A, B)
    assert compiled == []
    assert dispatch.run(["cache", "list"]) == 2


def use(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(6):
        m, k = rng.integers(1, 4, 2)
        a = np.ones((m, k), np.float32)
        assert (define(MM)(a, np.ones((k, 2), np.float32)) == k).all()


def test_processes_share_it() -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=use, args=(seed,)) for seed in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [spawn_process.exitcode for spawn_process in processes] == [0, 0, 0]
    cache = user_cache()
    assert cache is not None
    labels = [entry.label for entry in cache.entries()]
    assert len(labels) == len(set(labels)) > 1


def test_export_and_import(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], compiled: list[str]
) -> None:
    define(MM)(A, B)
    file = str(tmp_path / "kernels.jsonl")
    assert dispatch.run(["cache", "export", file]) == 0
    assert dispatch.run(["cache", "clear"]) == 0
    assert dispatch.run(["cache", "list"]) == 0
    assert "0 in" in capsys.readouterr().out
    assert dispatch.run(["cache", "import", file]) == 0
    compiled.clear()
    assert (define(MM)(A, B) == 4).all()
    assert compiled == []
    capsys.readouterr()
    assert dispatch.run(["cache", "list", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [entry["label"] for entry in document["entries"]] == ["mm(M=3, K=4, N=2)"]
    assert document["file"].startswith(str(folder))


def test_export_and_import_without_a_file(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    define(MM)(A, B)
    monkeypatch.chdir(folder)
    assert dispatch.run(["cache", "export", "-"]) == 0
    out = capsys.readouterr().out
    (entry,) = entries_from_text(out, "standard output")
    assert entry.label == "mm(M=3, K=4, N=2)"
    assert not Path("-").exists()
    assert dispatch.run(["cache", "clear"]) == 0
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(out.encode())))
    assert dispatch.run(["cache", "import", "-"]) == 0
    assert "1 added" in capsys.readouterr().out
    assert dispatch.run(["cache", "export", "-", "--json"]) == 2
    assert "--json has an answer of its own" in capsys.readouterr().out


def test_what_was_not_exported_is_refused(tmp_path: Path) -> None:
    good = text_of_entries([ENTRY])
    (entry,) = entries_from_text(good, "x")
    assert entry == ENTRY
    head, line, _ = good.split("\n")
    for text in (
        "", "{}", head.replace(str(CACHE_FORMAT), "77") + "\n" + line,
        good.replace("636f6465", "636f6466"),
        head + "\n{}", head + "\n[]", head + "\nnonsense", good.replace('"key"', '"ky"', 1),
    ):  # fmt: skip
        with pytest.raises(InputError, match="x: expected what"):
            entries_from_text(text, "x")
    assert dispatch.run(["cache", "import", str(tmp_path / "nowhere")]) == 2


SECOND = """
import sys, time
import numpy as np
import polygym.tc
import polygym.tc.comprehension
A, B = np.ones((300, 200), np.float32), np.ones((200, 100), np.float32)
polygym.tc.define("def f(float(N) a) -> (b) { b(i) = a(i) }")(A[0])  # the linker is up
begin = time.perf_counter()
C = polygym.tc.define(sys.argv[1])(A, B)
print(time.perf_counter() - begin)
assert (C == 200).all()
"""


@pytest.mark.timing
def test_a_second_process_starts_at_once() -> None:
    times = []
    for _ in range(3):
        done = subprocess.run(
            [sys.executable, "-c", SECOND, MM], capture_output=True, text=True, env=os.environ
        )
        assert done.returncode == 0, done.stderr
        times.append(float(done.stdout))
        time.sleep(0.1)
    assert min(times[1:]) < 0.05
    assert min(times[1:]) < times[0]


def measured(schedule: str, mapping: str, seconds: float) -> None:
    """Keep what an earlier polygym has measured for the product of A and B."""
    cache = user_cache()
    assert cache is not None
    entry = cache.entries()[0]
    cache.put(
        replace(entry, schedule=schedule, mapping=mapping, seconds=seconds, code=b"old"),
    )


def test_another_polygym_compiles_anew_what_was_fastest(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as earlier:
        earlier.setattr(module, "compiler_fingerprint", lambda: "an earlier one")
        operator = define(MM)
        operator(A, B)
        schedule = user_cache().entries()[0].schedule  # type: ignore[union-attr]
        measured(schedule, "unroll_jam=2", 0.5)
        measured(schedule, "unroll_jam=3 vector_bits=128", 0.25)
        measured("{ nonsense }", "unroll_jam=4", 0.125)
        measured(schedule, "jumble", 0.1)
    assert (define(MM)(A, B) == 4).all()
    mine = [e for e in user_cache().entries() if e.code != b"old"]  # type: ignore[union-attr]
    assert [(e.mapping, e.seconds) for e in mine[-1:]] == [("vector_bits=128 unroll_jam=3", None)]
    define(MM, mapping=parse_mapping("unroll_jam=5"))(A, B)
    last = max(user_cache().entries(), key=lambda e: e.created)  # type: ignore[union-attr]
    assert last.mapping == "unroll_jam=5", "asked for something else: nothing was measured for that"
