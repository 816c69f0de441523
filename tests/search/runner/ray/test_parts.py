"""Addresses, kinds, calibrations, slots, texts, and what a node does without Ray."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from threading import Thread

import pytest

from polygym.errors import InputError, InternalError
from polygym.mdp.problems.loading import source_digest
from polygym.programs import load_program
from polygym.search.runner.ray import node as at_node
from polygym.search.runner.ray.fleet import members, node_kinds
from polygym.search.runner.ray.fleet.jobs import Json
from polygym.search.runner.ray.fleet.node_kinds import NodeKind, node_kind_from_json, this_node_kind
from polygym.search.runner.ray.fleet.programs import (
    ProgramBundle,
    ProgramTexts,
    SentTexts,
    bundle_from_json,
)
from polygym.search.runner.ray.fleet.transport import parse_address
from polygym.search.runner.ray.node import Emit, MeasuringNode, hold_slot
from tests.search.runner.ray.fakes import kind


@pytest.mark.parametrize("word", ["", "rays", "ray:10", "ray://", "dask://a"])
def test_what_is_no_cluster_is_refused(word: str) -> None:
    with pytest.raises(InputError, match="--cluster: expected ray"):
        parse_address(word)


def test_kinds_differ_by_the_policy_of_frequency() -> None:
    assert (
        kind("a", "powersave").key != kind("a", "performance").key == kind("a", "performance").key
    )
    for node_kind in (kind("a", "powersave"), this_node_kind()):
        assert node_kind_from_json(json.loads(json.dumps(node_kind.to_json()))) == node_kind
    with pytest.raises(InputError, match="the kind of a node"):
        node_kind_from_json({"processor": "a"})


def test_a_pretended_kind_says_that_it_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    own = this_node_kind()
    monkeypatch.setenv(node_kinds.PRETEND_VARIABLE, "big")
    assert this_node_kind().machine.processor == f"{own.machine.processor} (pretending to be big)"
    assert isinstance(this_node_kind(), NodeKind)
    assert this_node_kind().key != own.key


def test_a_drift_that_makes_no_sense_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert members.drift_allowed() == members.DEFAULT_DRIFT
    monkeypatch.setenv(members.DRIFT_VARIABLE, "1.5")
    assert members.drift_allowed() == 1.5
    for text in ("1", "x", "-2", "inf", "nan"):
        monkeypatch.setenv(members.DRIFT_VARIABLE, text)
        with pytest.raises(InputError, match="POLYGYM_CLUSTER_DRIFT"):
            members.drift_allowed()


@pytest.fixture
def own_slot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polygym.search.runner.ray.node.slot_file", lambda: tmp_path / "slot")


@pytest.mark.usefixtures("own_slot")
def test_the_slot_of_a_host_has_one_holder() -> None:
    order = []

    def other() -> None:
        with hold_slot(lambda: False) as has_it:
            order.append(("other", has_it))

    with hold_slot(lambda: False) as has_it:
        assert has_it
        thread = Thread(target=other)
        thread.start()
        with hold_slot(lambda: True) as again:
            assert not again
        order.append(("first", True))
    thread.join(5)
    assert order == [("first", True), ("other", True)]


@pytest.mark.usefixtures("own_slot")
def test_the_slot_is_given_back_by_whoever_is_killed(tmp_path: Path) -> None:
    code = (
        "import fcntl, os, sys, time; d = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600); "
        "fcntl.flock(d, fcntl.LOCK_EX); print('held', flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "slot")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        with hold_slot(lambda: True) as has_it:
            assert not has_it
        process.kill()
        process.wait()
        with hold_slot(lambda: False) as has_it:
            assert has_it


@pytest.fixture
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path / f"polygym-programs-{os.getuid()}"


def test_a_folder_that_others_may_enter_is_refused(own_folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "my.c"
    path.write_text("int x;")
    program = SentTexts().program("a", str(path))
    own_folder.mkdir(mode=0o777)
    own_folder.chmod(0o777)
    with pytest.raises(InputError, match="of this user alone"):
        ProgramTexts().resolve(program)
    own_folder.chmod(0o700)
    assert Path(ProgramTexts().resolve(program)).is_relative_to(own_folder)


@pytest.mark.usefixtures("own_folder")
def test_a_text_is_sent_once_per_worker(tmp_path: Path) -> None:
    path = tmp_path / "my.c"
    path.write_text("int x;")
    sent, texts = SentTexts(), ProgramTexts()
    first, second = (sent.program("a", str(path)) for _ in range(2))
    assert first["files"] == [["my.c", "int x;"]]
    assert "files" not in second
    assert "files" in sent.program("b", str(path))
    place = Path(texts.resolve(first))
    assert (place.name, place.read_text()) == ("my.c", "int x;")
    assert texts.resolve(second) == str(place)
    assert texts.resolve(sent.program("a", "gemm")) == "gemm"
    path.write_text("int y;")
    assert Path(texts.resolve(sent.program("a", str(path)))).read_text() == "int y;"


@pytest.mark.parametrize(
    "program",
    [
        {"name": "/x.c", "digest": "d"},
        {"name": "/x.c", "digest": "d", "main": "x.c", "files": [["x.c", "int x;"]]},
    ],
)
def test_a_text_that_is_not_its_digest_is_refused(program: dict[str, str]) -> None:
    with pytest.raises(InternalError, match="expected"):
        ProgramTexts().resolve(program)


@pytest.mark.parametrize("path", ["/etc/x.c", "../x.c", "a/../../x.c", ""])
def test_a_file_that_would_stand_elsewhere_is_refused(path: str) -> None:
    for data in ({"main": path, "files": [[path, ""]]}, {"main": "a", "files": [[path, ""]]}):
        with pytest.raises(InputError, match="expected a path below a folder"):
            bundle_from_json(data)
    with pytest.raises(InputError, match="expected the text of 'a'"):
        bundle_from_json({"main": "a", "files": [["b", ""]]})


SCALE = """#include "../lib/size.h"
#if WIDE
#include "missing.h"
#endif
void scale(double a[N]) {
#pragma scop
  for (int i = 0; i < N; i++)
    a[i] = FACTOR * a[i];
#pragma endscop
}
"""


@pytest.fixture
def scale(tmp_path: Path) -> Path:
    """A file whose include includes another one; one line ends as elsewhere."""
    for name, text in (
        ("home/k/scale.c", SCALE),
        ("home/lib/size.h", '#include "deep/factor.h"\r\n#define N 100\n'),
        ("home/lib/deep/factor.h", "#define FACTOR 3.0\n"),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(text.encode())
    return tmp_path / "home" / "k" / "scale.c"


@pytest.mark.usefixtures("own_folder")
def test_what_a_file_includes_travels_with_it(scale: Path) -> None:
    sent = SentTexts()
    program = json.loads(json.dumps(sent.program("a", str(scale))))
    assert program.get("main") == "k/scale.c", program
    assert [name for name, _ in program["files"]] == [
        "k/scale.c", "lib/size.h", "lib/deep/factor.h"
    ]  # fmt: skip
    place = Path(ProgramTexts().resolve(program))
    factor = scale.parents[1] / "lib" / "deep" / "factor.h"
    assert (place.parents[1] / "lib" / "size.h").read_bytes() == (
        scale.parents[1] / "lib" / "size.h"
    ).read_bytes()
    assert source_digest(place) == source_digest(scale)
    factor.rename(factor.with_name("gone.h"))
    assert "3.0" in load_program(str(place)).scop.statements[0].body.__repr__()
    assert "is not in" in sent.program("a", str(scale))["refused"]
    factor.write_text("#define FACTOR 4.0\n")
    assert source_digest(place) != source_digest(scale)
    assert sent.program("a", str(scale))["digest"] != program["digest"]


@pytest.mark.usefixtures("own_folder")
def test_what_cannot_travel_is_refused_with_a_sentence(scale: Path, tmp_path: Path) -> None:
    factor = scale.parents[1] / "lib" / "deep" / "factor.h"
    scale.write_text(f'#include "{factor}"\n#define N 9\n' + SCALE.partition("endif\n")[2])
    program = SentTexts().program("a", str(scale))
    assert "expected files that are included by relative paths" in program["refused"]
    with pytest.raises(InputError, match="included by relative paths"):
        ProgramTexts().resolve(program)
    scale.write_bytes(b"\xff")
    assert "expected a text" in SentTexts().program("a", str(scale))["refused"]
    assert "expected a text" in SentTexts().program("a", str(tmp_path / "none.c"))["refused"]


@pytest.mark.usefixtures("own_folder")
def test_a_node_reads_nothing_but_what_was_sent(scale: Path) -> None:
    factor = scale.parents[1] / "lib" / "deep" / "factor.h"
    bundle = ProgramBundle("my.c", (("my.c", f'#include "{factor}"\n'),))
    with pytest.raises(InputError, match="included by relative paths"):
        ProgramTexts().resolve({"name": "my.c", "digest": bundle.digest, **bundle.to_json()})


@pytest.mark.usefixtures("own_slot")
@pytest.mark.parametrize("task", ["", "os.system", "polygym.files:write_atomically"])
def test_a_node_does_only_what_it_knows(task: str) -> None:
    (text,) = MeasuringNode().work(json.dumps({"job": "1", "task": task}))
    (row,) = json.loads(text)
    assert row["row"] == "failed"
    assert "expected a task that a node knows" in row["reason"]


@pytest.mark.usefixtures("own_slot")
def test_a_node_that_is_stopped_before_it_begins_does_nothing() -> None:
    node = MeasuringNode()
    assert list(node.stop('{"job": "1"}')) == ["[]"]
    with hold_slot(lambda: False):
        assert list(node.work('{"job": "1", "task": "search"}')) == []


@pytest.mark.usefixtures("own_slot")
def test_a_job_whose_turn_has_not_come_gives_signs_of_life_and_can_be_stopped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two drivers share a node: the first one's job goes on, the other's is stopped at once."""
    begun, may_end, waits = threading.Event(), threading.Event(), threading.Event()

    def long(job: Json, _: ProgramTexts, emit: Emit, __: Callable[[], bool]) -> None:
        begun.set()
        may_end.wait(60)
        emit({"row": "result", "of": job["job"]})

    monkeypatch.setattr(at_node, "_task", lambda _: long)
    monkeypatch.setattr(at_node, "_HEARTBEAT_SECONDS", 0.0)
    node = MeasuringNode()
    first: list[str] = []
    second: list[str] = []

    def ask(number: str, texts: list[str]) -> None:
        for text in node.work(json.dumps({"job": number, "task": "search"})):
            texts.append(text)
            waits.set()

    threads = [Thread(target=ask, args=arguments) for arguments in (("1", first), ("2", second))]
    threads[0].start()
    assert begun.wait(60)
    threads[1].start()
    assert waits.wait(60)
    list(node.stop('{"job": "2"}'))
    threads[1].join(60)
    assert not threads[1].is_alive()
    assert {row["row"] for text in second for row in json.loads(text)} == {"waiting"}
    may_end.set()
    threads[0].join(60)
    assert json.loads(first[-1]) == [{"row": "result", "of": "1"}]


@pytest.mark.usefixtures("own_slot")
def test_a_node_that_cannot_be_calibrated_yet_says_that_it_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(at_node, "_HEARTBEAT_SECONDS", 0.0)
    monkeypatch.setattr(at_node, "clock_seconds", lambda: 0.5)
    node = MeasuringNode()
    with hold_slot(lambda: False):
        greeting = node.greet()
        assert json.loads(next(greeting)) == [{"row": "waiting"}]
    *signs, last = greeting
    assert set(signs) <= {'[{"row": "waiting"}]'}
    assert json.loads(last)[0]["seconds"] == 0.5
    assert len(list(node.greet())) == 1  # it is known now


@pytest.mark.usefixtures("own_slot")
def test_a_long_measurement_in_one_flight_gives_signs_of_life(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def long(job: Json, _: ProgramTexts, emit: Emit, __: Callable[[], bool]) -> None:
        time.sleep(0.6)
        emit({"row": "confirmed"})

    monkeypatch.setattr(at_node, "_task", lambda _: long)
    monkeypatch.setattr(at_node, "_HEARTBEAT_SECONDS", 0.0)
    *signs, last = MeasuringNode().work('{"job": "1", "task": "confirm"}')
    assert set(signs) == {"[]"}
    assert json.loads(last) == [{"row": "confirmed"}]
    assert len(list(MeasuringNode().work('{"job": "1", "task": "search"}'))) == 1
