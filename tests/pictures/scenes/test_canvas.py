"""The whole picture: shape, determinism, nothing global, everything readable."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, pairwise
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.transforms import Bbox

import polybench
from polygym.errors import InputError, LimitError
from polygym.pictures import HEIGHT, WIDTH, Scene, render, save
from polygym.pictures.scenes import canvas
from polygym.pictures.scenes.canvas import draw
from polygym.pictures.scenes.space_plot import coordinate_names
from polygym.poly.scheduling.baselines import original_schedule
from polygym.poly.spaces.coordinates import CoordinateLayout
from polygym.poly.spaces.generators import RationalPoint
from tests.c_programs import SMALL_PROGRAMS, kernel_scop
from tests.pictures.scenes.sample_scenes import parsed, scene_of, small

KERNELS = [kernel.name for kernel in polybench.select(("*",))]

NO_LOOPS = """
void f(double a[1]) {
#pragma scop
  a[0] = 1.0;
  a[0] = a[0] + 2.0;
#pragma endscop
}
"""


def texts(scene: Scene) -> Iterator[tuple[str, Bbox]]:
    """Yield every text of the picture with its rectangle in pixels."""
    figure = draw(scene)
    surface = FigureCanvasAgg(figure)
    surface.draw()
    for axes in figure.axes:
        for text in axes.texts:
            yield text.get_text(), text.get_window_extent(surface.get_renderer())


def differing(first: Scene, second: Scene) -> int:
    """Return how many pixels differ."""
    return int(np.count_nonzero((render(first) != render(second)).any(axis=2)))


def test_a_frame_is_bytes_of_a_fixed_size() -> None:
    frame = render(scene_of(small("y_ax")))
    assert frame.shape == (HEIGHT, WIDTH, 3) == (640, 960, 3)
    assert frame.dtype == np.uint8
    assert frame.flags.c_contiguous
    assert frame.flags.writeable
    assert frame[0, 0].tolist() == [255, 255, 255]


def test_the_same_scene_has_the_same_pixels() -> None:
    scene = scene_of(
        kernel_scop("gemm"), current=3, schedule=original_schedule(kernel_scop("gemm"))
    )
    before = render(scene)
    render(scene_of(small("six_deep")))
    assert np.array_equal(before, render(scene))


@pytest.mark.rotates
@pytest.mark.parametrize("name", KERNELS)
def test_every_kernel_is_drawn_within_the_picture(name: str) -> None:
    scop = kernel_scop(name)
    width = CoordinateLayout.of(scop).width
    scene = scene_of(
        scop,
        schedule=original_schedule(scop),
        point=tuple(range(width)),
        current=width,
        highlighted=(0,),
    )
    picture = Bbox.from_bounds(0, 0, WIDTH, HEIGHT)
    shown = list(texts(scene))
    assert len(shown) > 15
    for text, place in shown:
        assert picture.x0 <= place.x0 < place.x1 <= picture.x1, text
        assert picture.y0 <= place.y0 < place.y1 <= picture.y1, text


@pytest.mark.parametrize("name", ["gemm", "deriche", "adi", "heat-3d", "correlation"])
def test_names_of_coordinates_do_not_overlap(name: str) -> None:
    scop = kernel_scop(name)
    layout = CoordinateLayout.of(scop)
    names = coordinate_names(
        layout, {statement.name: statement.iterators for statement in scop.statements}
    )
    assert len(set(names)) == layout.width
    written = sorted(
        (place for text, place in texts(scene_of(scop)) if text in names), key=lambda box: box.x0
    )
    assert len(written) >= min(layout.width, 40)
    assert all(left.x1 <= right.x0 for left, right in pairwise(written))


@pytest.mark.parametrize("name", SMALL_PROGRAMS)
def test_no_two_texts_overlap(name: str) -> None:
    scop = small(name)
    shown = list(texts(scene_of(scop, schedule=original_schedule(scop), current=0)))
    for (text, place), (other, there) in combinations(shown, 2):
        assert not place.overlaps(there), f"{text!r} and {other!r}"


def test_what_is_highlighted_changes_pixels() -> None:
    scop = small("y_ax")
    plain = scene_of(scop)
    width = CoordinateLayout.of(scop).width
    thick = 300
    for changes in (
        {"current": 0},
        {"current": 1},
        {"current": 2},
        {"current": width + 1},
        {"point": (1,) * width},
        {"point": (Fraction(1, 3),) * width},
        {"highlighted": (1,)},
        {"schedule": original_schedule(scop)},
        {"parameters": (("n", 3),)},
    ):
        assert differing(plain, replace(plain, **changes)) > thick, changes  # type: ignore[arg-type]
    scene = replace(plain, vertices=plain.vertices[:1])
    assert differing(replace(scene, current=0), replace(scene, current=1)) > thick


def test_a_current_generator_beyond_the_last_is_none() -> None:
    plain = scene_of(small("y_ax"))
    last = len(plain.vertices) + len(plain.rays) - 1
    assert differing(plain, replace(plain, current=last + 1)) == 0
    assert differing(plain, replace(plain, current=last)) > 0


def test_a_dependence_of_a_hidden_statement_brings_it_forth() -> None:
    scop = kernel_scop("deriche")
    plain = scene_of(scop)
    shown = {text for text, _ in texts(replace(plain, highlighted=(0,)))}
    assert not any(text.startswith("S0[") for text, _ in texts(plain))
    assert "red: the dependence looked at" in shown


def test_there_may_be_nothing_to_draw() -> None:
    for vertices, rays in (((), ()), ((RationalPoint((0,) * 7),), ()), ((), ((1,) * 7,))):
        frame = render(Scene(small("y_ax"), "", vertices, rays))
        assert frame.min() < 100
    assert "no generators" in {text for text, _ in texts(Scene(small("y_ax"), ""))}


def test_a_program_without_loops_has_dots() -> None:
    scop = parsed(NO_LOOPS)
    frame = render(Scene(scop, "no loops", (RationalPoint((0, 1)),), (), None, (0, 1)))
    assert frame.shape == (640, 960, 3)
    assert differing(Scene(scop, ""), Scene(small("y_ax"), "")) > 0


def test_huge_numbers_and_many_coordinates_fit() -> None:
    scop = kernel_scop("deriche")
    width = CoordinateLayout.of(scop).width
    assert width == 195
    point = tuple((-1) ** k * 10**k for k in range(width))
    shown = {text for text, _ in texts(scene_of(scop, point=point))}
    assert {"iterators", "parameters", "constants", "6 of 47 statements"} <= shown
    assert any(text.startswith("-2^") for text in shown)


def test_odd_titles_are_drawn_without_a_warning() -> None:
    scene = replace(scene_of(small("y_ax")), title="a\n$\\frac 漢字 \x07" + "w" * 300)
    title = next(text for text, _ in texts(scene) if text.startswith("a"))
    assert len(title) == 90
    assert "漢" not in title
    assert "\n" not in title


def test_a_program_that_is_too_irregular_leaves_a_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object) -> None:
        raise LimitError("too much")

    monkeypatch.setattr(canvas, "visible_instances", refuse)
    shown = [text for text, _ in texts(scene_of(small("y_ax")))]
    assert "the iteration domain is too irregular to be drawn" in shown


def test_the_users_settings_are_neither_read_nor_changed() -> None:
    scene = scene_of(small("scalars"), current=2)
    before = render(scene)
    dark = {
        "text.color": "white",
        "axes.facecolor": "black",
        "figure.facecolor": "black",
        "savefig.facecolor": "black",
        "lines.linewidth": 7.0,
        "lines.marker": "x",
        "font.size": 20.0,
        "font.family": "monospace",
        "figure.autolayout": True,
        "axes.grid": True,
    }
    with matplotlib.rc_context(dark):
        settings = dict(matplotlib.rcParams)
        assert np.array_equal(before, render(scene))
        assert dict(matplotlib.rcParams) == settings


def test_files_have_the_kind_that_their_name_says(tmp_path: Path) -> None:
    scene = scene_of(small("y_ax"))
    save(scene, tmp_path / "a.png")
    save(scene, str(tmp_path / "a.svg"))
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "a.svg").read_text()
    from matplotlib.image import imread

    read = (imread(tmp_path / "a.png")[:, :, :3] * 255).round().astype(np.uint8)
    assert np.array_equal(read, render(scene))
    for name in ("a.gif", "a"):
        with pytest.raises(InputError, match=r"\.png or \.svg"):
            save(scene, tmp_path / name)


def test_importing_is_cheap_and_drawing_opens_no_window() -> None:
    program = """
import sys
import polygym.pictures
assert "matplotlib" not in sys.modules
from tests.pictures.scenes.sample_scenes import scene_of, small
polygym.pictures.render(scene_of(small("y_ax")))
assert "matplotlib" in sys.modules
assert "matplotlib.pyplot" not in sys.modules
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
