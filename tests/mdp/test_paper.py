"""The paper's example, y = Ax, step by step (its Figures 5 and 6)."""

from polygym.frontend.c import parse_text
from polygym.mdp.episode import Episode, Task
from polygym.mdp.task_options import Phase
from polygym.poly.legality import is_legal
from polygym.poly.spaces.construction import construct_space, dependence_name
from polygym.poly.spaces.exploration import GeneratorKind, select_schedule
from tests.c_programs import Y_AX

NEXT_DIM, NEXT_DEP, SELECT_DEP, COEFFICIENT = range(4)

FIGURE_5 = (
    (NEXT_DIM, "(2, 1, 0, 0)"),
    (NEXT_DEP, "(2, 2, 0, 0)"),
    (NEXT_DIM, "(3, 2, 0, 0)"),
    (NEXT_DEP, "(3, 1, 0, 0)"),
    (NEXT_DEP, "(3, 2, 0, 0)"),
    (SELECT_DEP, "(3, 2, 0, 3)"),
    (NEXT_DIM, "(4, 2, 0, 3)"),
    (NEXT_DEP, "(4, 1, 0, 3)"),
    (SELECT_DEP, "(4, 1, 4, 3)"),
)
FIGURE_6 = (
    *(0, 0, 0, 0, 0, 2, 2, 1, 0, 2),
    *(0, 0, 0, 0, 2, 0, 0, 1, 0, 2),
    *(0, 0, 0, 1, 0, 2, 0, 0, 0, 0),
    *(0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
)


def constructed() -> Episode:
    episode = Task(parse_text(Y_AX, file="y_ax.c")).start()
    assert str(episode.construction) == "(1, 1, 0, 0)"
    for action, state in FIGURE_5:
        assert episode.phase is Phase.CONSTRUCT
        assert episode.mask()[action]
        episode = episode.after(action)
        assert str(episode.construction) == state
    return episode


def test_figure_5() -> None:
    episode = constructed()
    assert episode.phase is Phase.EXPLORE
    known = episode.task.polyhedra.dependences
    carried = [
        [dependence_name(known[k]) for k in dimension.carried] for dimension in episode.dimensions
    ]
    assert carried == [[], [], ["S->T"], ["T->T"]]
    assert [len(space_dimension.generators.vertices) for space_dimension in episode.dimensions] == [
        1,
        1,
        1,
        1,
    ]
    assert [len(dimension.generators.rays) for dimension in episode.dimensions] == [10, 10, 10, 13]
    assert episode.mask() == (False,) * 3 + (True,) * 3


def test_figure_6() -> None:
    episode = constructed()
    for coefficient in FIGURE_6:
        assert episode.phase is Phase.EXPLORE
        episode = episode.after(COEFFICIENT + coefficient)
    assert episode.phase is Phase.COMPLETE
    first, *_, last = episode.exploration.points
    # 2·(0,0,0,0,0,-1,0) + 2·(0,0,0,0,0,-1,-1) + (0,0,0,-1,-1,0,0) + 2·(-1,-1,0,0,0,0,0)
    assert first == (-2, -2, 0, -1, -1, -4, -2)
    assert last == (0, 0, 3, 0, 0, 0, 0)
    assert is_legal(episode.task.scop, episode.schedule())


def test_the_free_functions_make_the_same_schedule() -> None:
    episode = constructed()
    for coefficient in FIGURE_6:
        episode = episode.after(COEFFICIENT + coefficient)
    asked: list[str] = []

    def select(dependence: object) -> bool:
        """Select S -> T when it is asked for the third time, T -> T for the fourth."""
        name = dependence_name(dependence)  # type: ignore[arg-type]
        asked.append(name)
        return asked.count(name) == {"S->T": 3, "T->T": 4}[name]

    space = construct_space(episode.task.scop, select)
    assert asked == ["S->T", "T->T"] * 3 + ["T->T"]
    assert space.dimensions == episode.dimensions
    coefficients = iter(FIGURE_6)
    kinds = []

    def coefficient(generator: object) -> int:
        kinds.append(generator.kind)  # type: ignore[attr-defined]
        return next(coefficients)

    assert select_schedule(space, coefficient) == episode.schedule()
    assert kinds == [GeneratorKind.RAY] * 43
