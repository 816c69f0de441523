"""``--cluster`` and ``polygym cluster``, without a cluster and without Ray."""

import socket
from pathlib import Path
from typing import Any

import pytest

from polygym.cli.commands import cluster
from polygym.search.runner.ray import ray_transport
from tests.cli.invoke import call

COMMANDS = (
    ("sweep", "mvt", "--out", "found"),
    ("collect", "corpus.sqlite"),
    ("tune", "mvt", "--out", "found"),
)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda words: words[0])
def test_without_ray_the_extra_is_named(
    command: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(ray_transport, "find_spec", lambda _: None)
    monkeypatch.chdir(tmp_path)
    code, _, said = call(capsys, *command, "--cluster", "ray")
    assert code == 2
    assert "pip install 'polygym[ray]'" in said
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_cluster_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, _, said = call(capsys, "sweep", "mvt", "--out", str(tmp_path / "x"), "--cluster", "dask")
    assert code == 2
    assert "--cluster: expected ray, ray://HOST:PORT or ray://auto, found 'dask'" in said


@pytest.mark.parametrize("address", ["127.0.0.1:1", "127.0.0.1:x", "127.0.0.1:99999999"])
def test_an_address_without_a_cluster_is_refused_at_once(
    address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("ray")
    code, _, said = call(capsys, "cluster", "status", address)
    assert code == 2
    assert f"--cluster ray://{address}: expected the head of a Ray cluster" in said


def test_a_port_at_which_somebody_else_listens_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ray itself tries that for a quarter of an hour; it is asked once."""
    ray = pytest.importorskip("ray")

    def nobody(address: str) -> None:
        raise ray.exceptions.RpcError("timed out")

    monkeypatch.setattr("ray._raylet.GcsClient", nobody)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = "127.0.0.1:{1}".format(*server.getsockname())
        monkeypatch.setenv("RAY_ADDRESS", f"ray://{address}")  # as Ray writes its client's
        code, _, said = call(capsys, "collect", "x.sqlite", "--cluster", "ray")
    assert code == 2
    assert f"--cluster ray://{address}: expected the head of a Ray cluster (its --port)" in said
    assert not Path("x.sqlite").exists()


class Pretended:
    """A cluster of three nodes: one at work, one that only drives, one that is gone."""

    def __init__(self, address: str) -> None:
        self.address = address

    def nodes(self) -> list[dict[str, Any]]:
        return [self._node("a" * 9, False, measuring=1.0), self._node("b" * 9, True, CPU=2.0),
                self._node("c" * 9, True, CPU=4.0, measuring=1.0)]  # fmt: skip

    def _node(self, name: str, alive: bool, **resources: float) -> dict[str, Any]:
        return {"NodeID": name, "NodeManagerHostname": "h", "Alive": alive, "Resources": resources}

    def at_work(self, name: str) -> str:
        return name

    def call(self, worker: str, method: str, text: str) -> str:
        assert (worker, method) == ("c" * 9, "status")
        return '[{"row": "status", "about": "gemm", "clock_seconds": 0.001, "kind": "k"}]'

    def ready(self, calls: list[str], seconds: float) -> list[str]:
        return calls

    def take(self, call: str) -> str:
        return call

    def close(self) -> None:
        """Nothing is to be left."""


def test_the_status_ray_transport(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    statuses = ray_transport.cluster_status(Pretended(""))  # type: ignore[arg-type]
    assert [status["node"][0] for status in statuses] == ["c", "b", "a"]
    assert statuses[0]["worker"] == {"about": "gemm", "clock_seconds": 0.001, "kind": "k"}
    assert statuses[1]["worker"] is statuses[2]["worker"] is None
    monkeypatch.setattr(cluster, "RayTransport", Pretended)
    code, said, _ = call(capsys, "cluster", "status", "10.0.0.1:6379")
    assert code == 0
    assert [line.split()[2] for line in said.splitlines()[1:]] == ["busy", "no", "lost"]


def test_a_cluster_without_a_slot_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Pretended, "nodes", lambda self: [self._node("b", True, CPU=2.0)])
    monkeypatch.setattr(cluster, "RayTransport", Pretended)
    code, _, said = call(capsys, "cluster", "status")
    assert code == 1
    assert "no node offers a measuring slot" in said
