"""The diagrams of the explanation pages: files, layout, colours, and the facts that they show."""

import doctest
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, pairwise, product
from pathlib import Path
from xml.etree import ElementTree

import gymnasium
import pytest

from docs.site import diagram_shapes, diagram_transformations
from docs.site.diagram_architecture import LAYERS as DRAWN_LAYERS
from docs.site.diagram_environments import SCHEDULE, STEPS
from docs.site.diagram_shapes import NORMAL, WIDTH, Diagram, text, text_width
from docs.site.diagram_terms import STATES
from docs.site.diagrams import DIAGRAMS, IMAGES, write_diagrams
from polygym.envs.schedule import ScheduleEnv
from polygym.graphs.costs import RooflineCosts
from polygym.graphs.operators.types import NumberData, TensorPair, TensorType, TextData
from polygym.mapping.mapping import parse_mapping
from polygym.poly.legality import LegalSchedule
from polygym.poly.schedule import parse_schedule
from polygym.programs import load_program, load_scop
from polygym.terms import parse_program
from polygym.terms.cost import StaticCost
from polygym.terms.fusion_value import ReuseValue
from polygym.terms.rules.rule_table import rules_named
from polygym.transformations.parsing import parse_step
from polygym.transformations.state import IllegalStepError, TransformProgram
from tests.c_programs import Y_AX
from tests.test_layering import LAYERS

SVG = "{http://www.w3.org/2000/svg}"
PAGES = (
    "architecture beside-compilergym environments schedules storage mapping measuring limit "
    "cost-models comprehensions graphs terms exported-code transformations"
).split()
EACH = pytest.mark.parametrize("diagram", DIAGRAMS, ids=lambda diagram: diagram.name)
MARGIN = 8.0


@dataclass(frozen=True, slots=True)
class Area:
    """A rectangle of a picture, and the words in it if it is a label."""

    left: float
    top: float
    right: float
    bottom: float
    words: str = ""

    def contains(self, x: float, y: float) -> bool:
        return self.left <= x <= self.right and self.top <= y <= self.bottom

    def encloses(self, other: "Area", gap: float) -> bool:
        return (
            self.left + gap <= other.left
            and other.right <= self.right - gap
            and self.top <= other.top
            and other.bottom <= self.bottom
        )

    def overlaps(self, other: "Area") -> bool:
        is_beside = self.right <= other.left or other.right <= self.left
        return not is_beside and self.top < other.bottom and other.top < self.bottom

    @property
    def size(self) -> float:
        return (self.right - self.left) * (self.bottom - self.top)


def tree_of(diagram: Diagram) -> ElementTree.Element:
    return ElementTree.fromstring(diagram.svg())


def labels(tree: ElementTree.Element) -> list[Area]:
    """Return what texts cover at most, from the capitals' top to the descenders."""
    areas = []
    for element in tree.iter(f"{SVG}text"):
        words = element.text or ""
        size = float(element.attrib["font-size"])
        bold, mono = "font-weight" in element.attrib, "font-family" in element.attrib
        width = text_width(words, size, bold=bold, mono=mono)
        x, y = float(element.attrib["x"]), float(element.attrib["y"])
        x -= {"middle": width / 2, "end": width}.get(element.get("text-anchor", ""), 0.0)
        areas.append(Area(x, y - 0.76 * size, x + width, y + 0.22 * size, words))
    return areas


def boxes(tree: ElementTree.Element) -> list[Area]:
    areas = []
    for element in tree.iter(f"{SVG}rect"):
        x, y = float(element.get("x", 0)), float(element.get("y", 0))
        width, height = float(element.attrib["width"]), float(element.attrib["height"])
        areas.append(Area(x, y, x + width, y + height))
    return areas


def samples_of_lines(tree: ElementTree.Element) -> Iterator[tuple[float, float]]:
    """Yield points at most 2 pixels apart on the lines that are not the edges of an area."""
    for element in tree.iter(f"{SVG}path"):
        numbers = [float(number) for number in re.findall(r"-?[\d.]+", element.attrib["d"])]
        points = list(zip(numbers[::2], numbers[1::2], strict=True))
        if element.attrib["fill"] != "none":
            continue
        for (x, y), (to_x, to_y) in pairwise(points):
            count = int(max(abs(to_x - x), abs(to_y - y)) / 2) + 1
            for part in (k / count for k in range(count + 1)):
                yield x + part * (to_x - x), y + part * (to_y - y)


def test_each_page_has_a_diagram() -> None:
    assert sorted(diagram.name for diagram in DIAGRAMS) == sorted([*PAGES, "pipeline"])


@EACH
def test_stored_files_are_what_the_script_writes(diagram: Diagram) -> None:
    stored = (IMAGES / f"{diagram.name}.svg").read_text(encoding="utf-8")
    assert stored == diagram.svg(), "python -m docs.site.diagrams writes them anew"


def test_the_script_writes_all_files(tmp_path: Path) -> None:
    write_diagrams(tmp_path)
    names = {f"{diagram.name}.svg" for diagram in DIAGRAMS}
    assert {path.name for path in tmp_path.iterdir()} == names


@EACH
def test_no_label_is_clipped(diagram: Diagram) -> None:
    tree = tree_of(diagram)
    page = Area(MARGIN, MARGIN, WIDTH - MARGIN, diagram.height - MARGIN)
    frames = boxes(tree)
    for label in labels(tree):
        assert page.encloses(label, 0), label
        middle = (label.left + label.right) / 2, (label.top + label.bottom) / 2
        around = [frame for frame in frames if frame.contains(*middle)]
        frame = min(around, key=lambda frame: frame.size)
        assert frame.encloses(label, 1), (label, frame)


@EACH
def test_labels_meet_neither_each_other_nor_lines(diagram: Diagram) -> None:
    tree = tree_of(diagram)
    found = labels(tree)
    for one, other in combinations(found, 2):
        assert not one.overlaps(other), (one, other)
    for label, place in product(found, set(samples_of_lines(tree))):
        if label.words not in STRUCK:
            assert not label.contains(*place), (label, place)


STRUCK = {"next_dim", "next_dep", "select_dep"}
"""Labels that are struck out where a mask forbids them."""


@EACH
def test_diagrams_are_accessible(diagram: Diagram) -> None:
    tree = tree_of(diagram)
    title, description, card = tree[0], tree[1], tree[2]
    assert title.tag == f"{SVG}title"
    assert title.text
    assert description.tag == f"{SVG}desc"
    assert len(description.text or "") > len(title.text)
    assert tree.attrib["role"] == "img"
    assert {title.attrib["id"], description.attrib["id"]} == set(
        tree.attrib["aria-labelledby"].split()
    )
    assert card.attrib["fill"] == "#ffffff"
    assert card.attrib["rx"]
    sizes = [float(element.attrib["font-size"]) for element in tree.iter(f"{SVG}text")]
    assert min(sizes) >= NORMAL
    assert all("  " not in (element.text or "") for element in tree.iter(f"{SVG}text"))


def test_widths_are_those_of_the_widest_usual_fonts() -> None:
    """DejaVu's letters are wider than those of Liberation, Arial and Helvetica."""
    matplotlib = pytest.importorskip("matplotlib")
    from matplotlib.ft2font import FT2Font

    folder = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    fonts = {
        (False, False): FT2Font(str(folder / "DejaVuSans.ttf")),
        (True, False): FT2Font(str(folder / "DejaVuSans-Bold.ttf")),
        (False, True): FT2Font(str(folder / "DejaVuSansMono.ttf")),
    }
    for diagram in DIAGRAMS:
        for element in tree_of(diagram).iter(f"{SVG}text"):
            words = element.text or ""
            kind = "font-weight" in element.attrib, "font-family" in element.attrib
            font = fonts[kind]
            font.set_size(100, 72)
            advances = [font.load_char(ord(letter)).linearHoriAdvance for letter in words]
            measured = sum(advances) / 65536
            estimate = text_width(words, 100, bold=kind[0], mono=kind[1])
            assert measured <= 1.03 * estimate, words
            assert estimate <= 1.25 * measured, words


def test_examples_of_the_vocabulary() -> None:
    assert doctest.testmod(diagram_shapes).failed == 0


def test_words_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="'wide words': expected at most 20 pixels, found 6"):
        text(0, 0, "wide words", room=20)


def test_a_label_that_leaves_its_box_is_found() -> None:
    shapes = (
        diagram_shapes.rectangle(20, 20, 60, 30),
        text(50, 40, "longer than its box", anchor="middle"),
    )
    with pytest.raises(AssertionError):
        test_no_label_is_clipped(Diagram("wrong", "Wrong", "A label", 80, shapes))
    shapes = (text(24, 40, "one label"), text(50, 44, "another"))
    with pytest.raises(AssertionError):
        test_labels_meet_neither_each_other_nor_lines(Diagram("wrong", "", "", 80, shapes))


def test_the_architecture_has_all_packages_in_their_layers() -> None:
    assert DRAWN_LAYERS == tuple(frozenset(layer) for layer in LAYERS)
    (diagram,) = (diagram for diagram in DIAGRAMS if diagram.name == "architecture")
    bold = [
        (float(element.attrib["y"]), set((element.text or "").split(", ")))
        for element in tree_of(diagram).iter(f"{SVG}text")
        if "font-weight" in element.attrib
    ]
    for lower, upper in pairwise(LAYERS):
        below = {y for y, names in bold if names & lower}
        above = {y for y, names in bold if names & upper}
        assert len(below) == len(above) == 1, "a layer is one row"
        assert above < below or max(above) < min(below), (upper, lower)
    drawn = set().union(*(names for _, names in bold))
    assert set().union(*LAYERS) <= drawn


@pytest.fixture
def y_ax(tmp_path: Path) -> Path:
    path = tmp_path / "y_ax.c"
    path.write_text(Y_AX)
    return path


def test_the_episode_has_these_states_and_masks(y_ax: Path) -> None:
    env = gymnasium.make(
        "polygym/Schedule-v0", kernel=str(y_ax), reward="static", parameters="n=8", max_dimensions=2
    )
    own = env.unwrapped
    assert isinstance(own, ScheduleEnv)
    _, info = env.reset(seed=0)
    for step in STEPS:
        assert str(own.episode.construction) == step.state
        allowed = tuple(k for k, bit in enumerate(info["action_mask"][:3]) if bit)
        assert allowed == step.allowed
        _, _, terminated, truncated, info = env.step(step.taken)
    assert not terminated
    assert not truncated
    assert info["action_mask"].tolist()[:3] == [0, 0, 0]
    scop = load_scop(str(y_ax))
    LegalSchedule(scop, parse_schedule(f"{{ {SCHEDULE} }}", scop))


def test_the_steps_are_legal_and_lead_to_these_trees(tmp_path: Path) -> None:
    file = tmp_path / "wavefront.c"
    file.write_text(
        "void f(int n, double A[n][n]) {\n#pragma scop\n"
        "  for (int i = 1; i < n; i++)\n    for (int j = 0; j < n - 1; j++)\n"
        "      A[i][j] = A[i - 1][j + 1] + 1.0;\n#pragma endscop\n}\n"
    )
    state = TransformProgram(load_program(str(file)).scop).start(parse_mapping("threads=2"))
    with pytest.raises(IllegalStepError, match=re.escape("S0[2, 0] before S0[1, 1]")):
        state.after(parse_step(diagram_transformations.STEPS[1]))
    for step, tree in zip(
        diagram_transformations.STEPS, diagram_transformations.TREES, strict=True
    ):
        assert state.tree.text().splitlines() == list(tree)
        state = state.after(parse_step(step))


def test_the_derivation_has_these_costs_and_values() -> None:
    cost, value = StaticCost(), ReuseValue(rules=rules_named("simple"))
    for number, state in enumerate(STATES):
        term = parse_program(state.term).body
        assert cost(term) == pytest.approx(state.cost)
        expected = float(value([term], 10)[0][10 - number])
        assert round(expected, 1) == state.value
        assert round(expected + STATES[0].cost - cost(term), 1) == 0.9


def test_the_products_have_these_costs() -> None:
    costs, none = RooflineCosts(), TextData("none")
    x, half = TensorType((16, 1024)), TensorType((16, 16))
    one, both = (TensorType((1024, width), constant=True) for width in (16, 32))
    product_of_both = TensorType((16, 32))
    pair = TensorPair(half, half)
    found = (
        costs.cost("matmul", (none, x, one), half),
        costs.cost("matmul", (none, x, both), product_of_both),
        costs.cost("split", (NumberData(1), NumberData(16), product_of_both), pair),
        costs.cost("split0", (pair,), half),
    )
    assert [round(number, 1) for number in found] == [9.8, 14.2, 1.3, 0.0]
    assert round(2 * found[0], 1) == 19.6
    assert round(sum(found[1:]), 1) == 15.5
