"""Addresses, kinds, calibrations, slots, texts, and what a node does without Ray."""

import json
import os
import subprocess
import sys
from pathlib import Path
from threading import Thread

import pytest

from polygym.errors import InputError, InternalError
from polygym.search.cluster import calibration, kinds
from polygym.search.cluster.address import parse_address
from polygym.search.cluster.kinds import Kind, kind_from_json, this_kind
from polygym.search.cluster.node import Node
from polygym.search.cluster.slot import holding_slot
from polygym.search.cluster.texts import Sent, Texts
from tests.search.cluster.pretending import kind


@pytest.mark.parametrize("word", ["", "rays", "ray:10", "ray://", "dask://a"])
def test_what_is_no_cluster_is_refused(word: str) -> None:
    with pytest.raises(InputError, match="--on: expected ray"):
        parse_address(word)


def test_kinds_differ_by_the_policy_of_frequency() -> None:
    assert (
        kind("a", "powersave").key != kind("a", "performance").key == kind("a", "performance").key
    )
    for one in (kind("a", "powersave"), this_kind()):
        assert kind_from_json(json.loads(json.dumps(one.to_json()))) == one
    with pytest.raises(InputError, match="the kind of a node"):
        kind_from_json({"processor": "a"})


def test_a_pretended_kind_says_that_it_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    own = this_kind()
    monkeypatch.setenv(kinds.PRETEND, "big")
    assert this_kind().machine.processor == f"{own.machine.processor} (pretending to be big)"
    assert isinstance(this_kind(), Kind)
    assert this_kind().key != own.key


def test_a_drift_that_makes_no_sense_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert calibration.drift_allowed() == calibration.USUAL_DRIFT
    monkeypatch.setenv(calibration.DRIFT_VARIABLE, "1.5")
    assert calibration.drift_allowed() == 1.5
    for text in ("1", "x", "-2", "inf", "nan"):
        monkeypatch.setenv(calibration.DRIFT_VARIABLE, text)
        with pytest.raises(InputError, match="POLYGYM_CLUSTER_DRIFT"):
            calibration.drift_allowed()


@pytest.fixture
def own_slot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polygym.search.cluster.slot.slot_file", lambda: tmp_path / "slot")


@pytest.mark.usefixtures("own_slot")
def test_the_slot_of_a_host_has_one_holder() -> None:
    order = []

    def other() -> None:
        with holding_slot(lambda: False) as has_it:
            order.append(("other", has_it))

    with holding_slot(lambda: False) as has_it:
        assert has_it
        thread = Thread(target=other)
        thread.start()
        with holding_slot(lambda: True) as again:
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
        with holding_slot(lambda: True) as has_it:
            assert not has_it
        process.kill()
        process.wait()
        with holding_slot(lambda: False) as has_it:
            assert has_it


@pytest.fixture
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path / f"polygym-programs-{os.getuid()}"


def test_a_folder_that_others_may_enter_is_refused(own_folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "my.c"
    path.write_text("int x;")
    program = Sent().program("a", str(path))
    own_folder.mkdir(mode=0o777)
    own_folder.chmod(0o777)
    with pytest.raises(InputError, match="of this user alone"):
        Texts().place(program)
    own_folder.chmod(0o700)
    assert Path(Texts().place(program)).is_relative_to(own_folder)


@pytest.mark.usefixtures("own_folder")
def test_a_text_is_sent_once_per_worker(tmp_path: Path) -> None:
    path = tmp_path / "my.c"
    path.write_text("int x;")
    sent, texts = Sent(), Texts()
    first, second = (sent.program("a", str(path)) for _ in range(2))
    assert "text" in first
    assert "text" not in second
    assert "text" in sent.program("b", str(path))
    place = Path(texts.place(first))
    assert (place.name, place.read_text()) == ("my.c", "int x;")
    assert texts.place(second) == str(place)
    assert texts.place(sent.program("a", "gemm")) == "gemm"
    path.write_text("int y;")
    assert Path(texts.place(sent.program("a", str(path)))).read_text() == "int y;"


@pytest.mark.parametrize(
    "program",
    [{"name": "/x.c", "digest": "d"}, {"name": "/x.c", "digest": "d", "text": "int x;"}],
)
def test_a_text_that_is_not_its_digest_is_refused(program: dict[str, str]) -> None:
    with pytest.raises(InternalError, match="expected"):
        Texts().place(program)


@pytest.mark.usefixtures("own_slot")
@pytest.mark.parametrize("task", ["", "os.system", "polygym.files:write_atomically"])
def test_a_node_does_only_what_it_knows(task: str) -> None:
    (text,) = Node().work(json.dumps({"job": "1", "task": task}))
    (row,) = json.loads(text)
    assert row["row"] == "failed"
    assert "expected a task that a node knows" in row["reason"]


@pytest.mark.usefixtures("own_slot")
def test_a_node_that_is_stopped_before_it_begins_does_nothing() -> None:
    node = Node()
    assert list(node.stop('{"job": "1"}')) == ["[]"]
    with holding_slot(lambda: False):
        assert list(node.work('{"job": "1", "task": "search"}')) == []
