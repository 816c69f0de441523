"""Sweeps on three nodes of Ray on this machine, of which some die, and whose driver does."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ray_study.ray_nodes import add_node as add
from ray_study.ray_nodes import (
    is_alive,
    local_cluster,
    measuring_processes,
    node_actors,
    query_rows,
    start_sweep,
    sweep_episodes,
    wait_for_end,
)
from ray_study.ray_nodes import wait_for as wait

from polybench import Dataset
from polygym.agents.trainers.training_tables import read_rows
from polygym.mapping.mapping import SEQUENTIAL_MAPPING
from polygym.mdp.problems.loading import ProgramSource
from polygym.poly.scheduling.baselines import original_schedule
from polygym.runtime.evaluation import EvaluationOptions
from polygym.runtime.worker.timing import describe_host
from polygym.search.corpus.store import open_corpus
from polygym.search.runner.ray.episode_rewards import RayRewards
from polygym.search.runner.ray.fleet.fleet import Fleet
from polygym.search.runner.ray.ray_transport import RayTransport, cluster_status

ray = pytest.importorskip("ray")
# Among the tests that run alone: workers that run tests side by side would each start a cluster.
pytestmark = [
    pytest.mark.nightly,
    pytest.mark.ray,
    pytest.mark.timing,
    pytest.mark.timeout(900),
]

OWN = """void scale(int n, double *a) {
#pragma scop
  for (int i = 0; i < n; i++)
    a[i] = 2.0 * a[i];
#pragma endscop
}
"""
KERNELS = ("mvt", "atax", "trisolv")
BUDGET = 8
MORE = ("--budget", str(BUDGET), "--confirm", "2")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    os.environ["POLYGYM_CLUSTER_DRIFT"] = "1000"  # others are at work on the machine
    with local_cluster(3) as sweep_episodes:
        yield sweep_episodes
    del os.environ["POLYGYM_CLUSTER_DRIFT"]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> set[tuple[Any, ...]]:
    folder = tmp_path_factory.mktemp("local")
    wait_for_end(start_sweep(folder, "", *KERNELS, *MORE))
    return sweep_episodes(folder)


def test_nodes_and_a_driver_die_and_the_rows_are_the_same(
    cluster: Any, undisturbed: set[tuple[Any, ...]], tmp_path: Path
) -> None:
    """A worker's process and a node die while searching, then the driver, then it goes on."""
    assert len(undisturbed) == len(KERNELS) * BUDGET
    before = set(node_actors())
    driver = start_sweep(tmp_path, cluster.address, *KERNELS, *MORE)
    wait(lambda: len(sweep_episodes(tmp_path)) >= 2, "rows")
    victim = next(iter(set(node_actors()) - before))
    family = measuring_processes(victim)
    os.kill(victim, signal.SIGKILL)
    node = next(iter(cluster.worker_nodes))
    cluster.remove_node(node, allow_graceful=False)
    count = len(sweep_episodes(tmp_path))
    wait(
        lambda: len(sweep_episodes(tmp_path)) > count or driver.poll() is not None,
        "rows after the deaths",
    )
    assert driver.poll() is None, wait_for_end(driver)
    os.kill(driver.pid, signal.SIGKILL)
    driver.communicate()
    wait(lambda: not any(map(is_alive, family)), "the end of what the worker had started")
    wait(lambda: not set(node_actors()) - before, "the end of a dead driver's workers")
    add(cluster)
    said = wait_for_end(start_sweep(tmp_path, cluster.address, *KERNELS, *MORE))
    assert sweep_episodes(tmp_path) == undisturbed, said
    doubled = "SELECT count(*) FROM outcomes GROUP BY kernel, schedule HAVING count(*) > 1"
    assert query_rows(tmp_path, doubled) == []
    assert len(query_rows(tmp_path, "SELECT key FROM kinds")) == 1
    best = query_rows(tmp_path, "SELECT kernel, count(*) FROM confirmations GROUP BY kernel")
    assert {kernel for kernel, _ in best} == set(KERNELS)
    wait(lambda: not set(node_actors()) - before, "the end of the workers")


def test_two_drivers_share_a_cluster(
    cluster: Any, undisturbed: set[tuple[Any, ...]], tmp_path: Path
) -> None:
    folders = [tmp_path / "one", tmp_path / "two"]
    drivers = [start_sweep(path, cluster.address, "mvt", *MORE) for path in folders]
    said = [wait_for_end(driver) for driver in drivers]
    wanted = {episode for episode in undisturbed if episode[0] == "mvt"}
    assert [sweep_episodes(folder) == wanted for folder in folders] == [True, True], said


def test_the_end_of_one_driver_costs_another_one_nothing(cluster: Any, tmp_path: Path) -> None:
    """All nodes are at one program when the driver that had hired them ends, and end with it."""
    words = ("mvt", "--confirm", "0", "--budget")
    first = start_sweep(tmp_path / "first", cluster.address, *words, "400")
    wait(lambda: len(sweep_episodes(tmp_path / "first")) >= 2, "rows of the first")
    second = start_sweep(tmp_path / "second", cluster.address, *words, "48")
    wait(lambda: len(sweep_episodes(tmp_path / "second")) >= 2, "rows of the second")
    os.kill(first.pid, signal.SIGINT)
    assert "is lost" not in wait_for_end(first, 120.0)
    said = wait_for_end(second)
    assert second.returncode == 0, said
    assert len(sweep_episodes(tmp_path / "second")) == 48
    assert query_rows(tmp_path / "second", "SELECT error FROM kernels") == [("",)], said


def test_who_shares_nodes_leaves_them_to_their_driver(cluster: Any, tmp_path: Path) -> None:
    words = ("mvt", "--confirm", "0", "--budget")
    first = start_sweep(tmp_path / "first", cluster.address, *words, "400")
    wait(lambda: len(sweep_episodes(tmp_path / "first")) >= 2, "rows of the first")
    second = start_sweep(tmp_path / "second", cluster.address, *words, "400")
    wait(lambda: len(sweep_episodes(tmp_path / "second")) >= 1, "rows of the second")
    before = set(node_actors())
    os.kill(second.pid, signal.SIGINT)
    wait_for_end(second, 120.0)
    assert before <= set(node_actors())
    os.kill(first.pid, signal.SIGINT)
    assert "is lost" not in wait_for_end(first, 120.0)


def test_another_kind_of_node_is_refused_and_an_interrupt_drains(
    cluster: Any, tmp_path: Path
) -> None:
    other = add(cluster, POLYGYM_PRETEND_MACHINE="big")
    try:
        driver = start_sweep(tmp_path, cluster.address, "mvt", "--budget", "500", "--confirm", "0")
        wait(lambda: len(sweep_episodes(tmp_path)) >= 2, "rows")
        os.kill(driver.pid, signal.SIGINT)
        said = wait_for_end(driver, 120.0)
        assert driver.returncode == 130
        assert "is refused: expected nodes of one kind" in said
        assert "(pretending to be big)" in said
        ((document,),) = query_rows(tmp_path, "SELECT document FROM kinds")
        assert "pretending" not in document
    finally:
        cluster.remove_node(other)


def polygym(*arguments: str) -> str:
    command = (sys.executable, "-m", "polygym", *arguments)
    done = subprocess.run(command, capture_output=True, text=True, timeout=400, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_collection_and_a_tuning_on_the_cluster(cluster: Any, tmp_path: Path) -> None:
    on = ("--cluster", f"ray://{cluster.address}", "--json")
    file = tmp_path / "corpus.sqlite"
    source = tmp_path / "own.c"
    source.write_text(OWN)
    work = (
        "--operations",
        "1e4:1e5",
        "--candidates",
        "4",
        "--function",
        "scale",
        "--extent",
        "a=n",
    )
    said = json.loads(polygym("collect", str(file), str(source), "--rows", "7", *work, *on))
    assert (said["rows"], said["skipped"]) == (7, [])
    with open_corpus(file) as corpus:
        assert corpus.check() == []
        assert corpus.count() == 7
        assert [fingerprint.processor for fingerprint in corpus.machines().values()] == [
            describe_host().processor
        ]
        assert {visit.text for visit, _ in corpus.visits()} == {OWN}
        assert {visit.case.function for visit, _ in corpus.visits()} == {"scale a[n]"}
        assert corpus.clocks()
    out = tmp_path / "tuned"
    sizes = ("-d", "mini", "--strategy", "genetic", "--budget", "4", "--seed", "1")
    said = json.loads(polygym("tune", str(source), *sizes, "--out", str(out), *on))
    assert said["tried"] >= 4
    assert said["node"]["processor"] == describe_host().processor
    journal = [json.loads(line) for line in (out / "journal.jsonl").read_text().splitlines()]
    assert len(journal) == said["tried"] + 1
    assert {row["outcome"]["status"] for row in journal[1:] if row["outcome"]} <= {"ok", "timeout"}


def test_ends_of_episodes_on_the_cluster(cluster: Any, capsys: pytest.CaptureFixture[str]) -> None:
    source = ProgramSource("trisolv", None, Dataset.MINI, ())
    program = source.load()
    schedule = original_schedule(program.scop)
    said: list[str] = []
    with (
        Fleet(RayTransport(cluster.address), said.append) as fleet,
        RayRewards(fleet) as ends,
    ):
        asked = [
            ends.submit(
                source, EvaluationOptions(timeout_factor=1e3 + k), schedule, SEQUENTIAL_MAPPING
            )
            for k in range(3)
        ]
        sweep_episodes = [future.result(300) for future in asked]
        nodes = cluster_status(fleet.transport)  # type: ignore[arg-type]
        told = {"lines": ["a node has ended"], "pid": "raylet", "is_err": False}
        ray._private.worker.print_to_stdstream(told, ignore_prefix=False)
    assert "a node has ended" not in capsys.readouterr().out
    assert [evaluation.is_ok for evaluation in sweep_episodes] == [True] * 3, said
    assert {episode.schedule for episode in sweep_episodes} == {schedule}
    hired = [node for node in nodes if node["worker"] is not None]
    assert hired
    assert all(host["measuring"] == 1 and host["worker"]["kind"] for host in hired)


TRAINING = """polygym/Schedule-v0:
  kernels: mvt
  steps: 192
  every: 192
  arguments: {reward: log_speedup, dataset: mini, timeout_factor: 1000}
  hyperparameters: {n_steps: 64, batch_size: 32, n_epochs: 1}
  evaluation: {kernels: mvt, episodes: 1}
  network: mlp
"""


def test_a_training_whose_ends_of_episodes_are_measured_on_the_cluster(
    cluster: Any, tmp_path: Path
) -> None:
    file, out = tmp_path / "small.yaml", tmp_path / "trained"
    file.write_text(TRAINING)
    words = (
        "-m",
        "polygym",
        "train",
        str(file),
        "--out",
        str(out),
        "--cluster",
        f"ray://{cluster.address}",
    )
    command = (sys.executable, *words)
    done = subprocess.run(command, capture_output=True, text=True, timeout=400, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (out / "seed-0" / "model.zip").exists()
    episodes = read_rows(out / "seed-0" / "episodes.csv")
    evaluations = read_rows(out / "seed-0" / "evaluations.csv")
    assert episodes
    assert {episode["status"] for episode in [*episodes, *evaluations]} <= {"ok", "timeout"}
    assert any(float(episode["reward"]) != 0.0 for episode in episodes)
    wait(lambda: not node_actors(), "the end of the workers")
