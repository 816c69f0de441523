"""Networks of scores: NumPy gives what PyTorch gives, and training learns what can be learned."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from polygym.cost.models.cost_model import TrainingSamples
from polygym.cost.models.score_network import CLIP, ScoreNetwork, ScoreNetworkMember

NAMES = tuple(f"column {number}" for number in range(7))


def network(members: int = 2) -> ScoreNetwork:
    rng = np.random.default_rng(0)

    def some(*shape: int) -> np.ndarray:
        return rng.normal(size=shape).astype(np.float32)

    return ScoreNetwork(
        NAMES,
        some(7),
        np.abs(some(7)) + np.float32(0.5),
        tuple(
            ScoreNetworkMember((some(5, 7), some(3, 5), some(1, 3)), (some(5), some(3), some(1)))
            for _ in range(members)
        ),
    )


def test_a_score_by_hand() -> None:
    array = np.ones((1, 1), np.float32)
    zero = np.zeros(1, np.float32)
    score_network = ScoreNetwork(
        ("x",), np.array([1.0], np.float32), np.array([2.0], np.float32),
        (ScoreNetworkMember((3 * array, array), (zero, zero)),),
    )  # fmt: skip
    scores = score_network.scores(np.array([[5.0], [-1.0], [1e9], [np.nan]]))
    assert scores.tolist() == [[6.0, 0.0, 3 * CLIP, 0.0]]


def test_numpy_gives_what_pytorch_gives() -> None:
    torch = pytest.importorskip("torch")
    from polygym.cost.models.score_network_training import member_layers, member_of

    torch.manual_seed(3)
    model = member_layers(7, (16, 8), dropout=0.3).eval()
    rows = np.random.default_rng(1).normal(size=(50, 7)).astype(np.float32)
    with torch.no_grad():
        wanted = model(torch.from_numpy(rows)).squeeze(-1).numpy()
    np.testing.assert_allclose(member_of(model).scores(rows), wanted, rtol=0, atol=1e-5)


def test_what_is_written_is_read_back() -> None:
    written = network()
    arrays = written.arrays("some")
    read = ScoreNetwork.of_arrays("some", NAMES, arrays)
    rows = np.random.default_rng(2).normal(size=(9, 7))
    assert len(read.members) == 2
    np.testing.assert_array_equal(read.scores(rows), written.scores(rows))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda arrays: arrays.pop("some/mean"), "no array some/mean"),
        (lambda arrays: arrays.update({"some/mean": np.zeros(6)}), "6 features, not of 7"),
        (lambda arrays: arrays.update({"some/0/1/weights": np.zeros((3, 4))}), "fit together"),
        (lambda arrays: arrays.update({"some/0/0/biases": np.full(5, np.nan)}), "that are none"),
        (lambda arrays: arrays.pop("some/0/0/weights"), "no member"),
        (lambda arrays: arrays.pop("some/1/2/weights"), "3 scores"),
    ],
)
def test_damaged_arrays_are_refused(change, words: str) -> None:
    arrays = network().arrays("some")
    change(arrays)
    with pytest.raises(ValueError, match=words):
        ScoreNetwork.of_arrays("some", NAMES, arrays)


def test_it_learns_an_order() -> None:
    torch = pytest.importorskip("torch")
    from polygym.cost.models.score_network_training import ScoreNetworkOptions, train_score_network

    rng = np.random.default_rng(5)
    features = rng.normal(size=(600, 7))
    # Cases have constants of their own, which say nothing and are not to be learned.
    cases = np.repeat(np.arange(30), 20)
    seconds = np.exp2(features[:, 1] - 2 * features[:, 4] + 5 * rng.normal(size=30)[cases])
    samples = TrainingSamples(features[:500], seconds[:500], cases[:500])
    options = ScoreNetworkOptions(
        widths=(32,), members=2, epochs=400, learning_rate=5e-3, dropout=0.0
    )
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # so small a network is slower with more, beside other tests
    try:
        score_network = train_score_network(samples, NAMES, options)
    finally:
        torch.set_num_threads(threads)  # other tests compare weights with those of other processes
    scores = score_network.scores(features[500:]).mean(axis=0)
    for case in range(25, 30):
        own = np.flatnonzero(cases[500:] == case)
        truth = -np.log2(seconds[500:][own])
        assert np.corrcoef(scores[own], truth)[0, 1] > 0.95
        assert abs(np.polyfit(scores[own], truth, 1)[0] - 1) < 0.25  # how far apart, too


def test_the_same_seed_learns_the_same_and_another_something_else() -> None:
    pytest.importorskip("torch")
    from polygym.cost.models.score_network_training import ScoreNetworkOptions, train_score_network

    features = np.random.default_rng(5).normal(size=(60, 7))
    samples = TrainingSamples(features, np.exp2(features[:, 1]), np.repeat(np.arange(3), 20))
    options = ScoreNetworkOptions(widths=(8,), members=2, epochs=6)
    score_network, again = (
        train_score_network(samples, NAMES, options),
        train_score_network(samples, NAMES, options),
    )
    np.testing.assert_array_equal(again.scores(features), score_network.scores(features))
    other = train_score_network(samples, NAMES, replace(options, seed=1))
    assert not np.array_equal(other.scores(features), score_network.scores(features))


def test_saved_weights(tmp_path: Path) -> None:
    from polygym.autoschedule.weights import PolicyWeights
    from polygym.cost.features.candidates.candidate_vector import FEATURE_NAMES as LOOPS
    from polygym.cost.features.schedules.schedule_vector import SCHEDULE_FEATURE_NAMES
    from polygym.cost.models.cost_model import ModelCard
    from polygym.errors import InputError

    def sized(names: tuple[str, ...]) -> ScoreNetwork:
        member = ScoreNetworkMember(
            (np.full((1, len(names)), 0.25, np.float32),), (np.ones(1, np.float32),)
        )
        columns = np.arange(len(names), dtype=np.float32)
        return ScoreNetwork(names, columns * 1e5, columns + 1, (member,))

    card = ModelCard("learned policy", "pairs", 1, 1, 1, 0)
    PolicyWeights(sized(SCHEDULE_FEATURE_NAMES), sized(LOOPS), 0.5, 0.25, card).save(
        file := tmp_path / "some.npz"
    )
    read = PolicyWeights.load(file)
    assert (read.caution, read.least_gain, read.card) == (0.5, 0.25, card)
    rows = np.random.default_rng(0).normal(size=(4, len(LOOPS))) * 1e5
    np.testing.assert_array_equal(read.candidate_network.scores(rows), sized(LOOPS).scores(rows))
    data = file.read_bytes()
    for damaged in (b"", data[:-9], data[: len(data) // 2], b"PK" + data[9:], b"something"):
        file.write_bytes(damaged)
        with pytest.raises(InputError, match="expected weights of a policy"):
            PolicyWeights.load(file)
    with pytest.raises(InputError, match="expected weights"):
        PolicyWeights.load(tmp_path / "none.npz")
