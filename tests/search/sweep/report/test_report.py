"""Reports of sweeps that were never measured: complete ones, begun ones, ones with defects."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from polygym.cli import dispatch
from polygym.search.sweep.reader import read_sweep
from polygym.search.sweep.report.page import write_report
from polygym.search.sweep.rows import BackgroundLoadRow
from polygym.search.sweep.statistics import geometric_mean
from polygym.search.sweep.store import STORE_FILE, create_or_open, open_store
from tests.search.sweep.fakes import SETTING, fill


class Page(HTMLParser):
    """Collects the tags, the addresses and the text of a page, and sees that tags are closed."""

    def __init__(self, text: str) -> None:
        """Read a page."""
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.addresses: list[str] = []
        self.text = ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.addresses += [value or "" for name, value in attributes if name in ("src", "href")]
        if tag not in ("meta", "img", "link"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += f"{data} "


def page_of(folder: Path) -> Page:
    files, _ = write_report(read_sweep(folder), folder / "report.html")
    return Page(files[0].read_text())


def test_one_page_and_six_files(tmp_path: Path) -> None:
    fill(tmp_path, ("gemm", "mvt", "/a/<blur>.c"), references=("isl", "polly"))
    files, summaries = write_report(read_sweep(tmp_path), tmp_path / "new" / "sweep.html")
    assert [path.name for path in files] == [
        "sweep.html",
        "sweep-distribution.png",
        "sweep-distribution.svg",
        "sweep-best.png",
        "sweep-best.svg",
        "sweep-policies.png",
        "sweep-policies.svg",
    ]
    page = Page(files[0].read_text())
    assert page.tags.count("img") == 3
    assert "script" not in page.tags
    assert all(address.startswith("data:image/svg+xml;base64,") for address in page.addresses)
    assert not re.search(r"https?:", re.sub(r"base64,[^\"]*", "", files[0].read_text()))
    assert "prefers-color-scheme: dark" in files[0].read_text()
    for summary in summaries:
        assert f"{summary.best:.2f}x" in page.text
        assert f"{summary.references['polly']:.2f}x" in page.text
    assert "<blur>" in page.text
    assert "<blur>" not in files[0].read_text()
    assert "Wrong outputs" not in page.text


def test_wrong_outputs_are_loud(tmp_path: Path) -> None:
    fill(tmp_path, wrong=2)
    page = page_of(tmp_path)
    assert "Wrong outputs: 8" in page.text
    assert "gemm (4)" in page.text


def test_crashes_are_as_loud(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    fill(tmp_path, crashed=2)
    page = page_of(tmp_path)
    assert "Crashes: 8" in page.text
    assert "gemm (4)" in page.text
    assert "Wrong outputs" not in page.text
    assert "8 crashes: a defect of polygym" in call(capsys, str(tmp_path))[2]


def test_a_sweep_that_has_just_begun(tmp_path: Path) -> None:
    create_or_open(tmp_path, SETTING).close()
    page = page_of(tmp_path)
    assert page.tags.count("img") == 3
    assert "0 programs, 0 schedules explored by nobody yet, 1 thread;" in page.text
    assert page.text.count("No schedule has run yet.") == 2
    assert "No program has been explored by every policy yet." in page.text
    with create_or_open(tmp_path, SETTING) as store:
        store.add_kernels(("gemm", "mvt"))
        store.set_error("mvt", "mvt: expected <something>")
    page = page_of(tmp_path)
    assert "mvt: expected <something>" in page.text
    assert "mvt: mvt:" not in page.text


def test_a_sweep_without_confirmation(tmp_path: Path) -> None:
    fill(tmp_path, confirm=0)
    assert "as measured in the search" in page_of(tmp_path).text


@pytest.mark.parametrize(
    ("kernels", "words"),
    [(("gemm",), "(1 program) and the geometric means. It was"), (("gemm", "mvt"), "All were")],
)
def test_bests_that_were_measured_again(
    tmp_path: Path, kernels: tuple[str, ...], words: str
) -> None:
    fill(tmp_path, kernels)
    assert f"{words} measured again at the larger size, in turn with" in page_of(tmp_path).text


def test_a_card_for_each_reference(tmp_path: Path) -> None:
    fill(tmp_path, references=("isl", "polly"))
    _, summaries = write_report(read_sweep(tmp_path), tmp_path / "report.html")
    cards = re.findall(r'<div class="number">(.*?)</div>', (tmp_path / "report.html").read_text())
    assert len(cards) == 3
    assert "best over -O3" in cards[0]
    wins = sum((summary.best or 0) >= summary.references["polly"] for summary in summaries)
    assert f"<span>no slower in {wins} of 2</span>" in cards[2]
    over = geometric_mean(
        (kernel_summary.best or 0) / kernel_summary.references["polly"]
        for kernel_summary in summaries
    )
    assert f"<b>{over:.2f}x</b><span>best over polly</span>" in cards[2]


def test_policies_pass_in_a_sentence_each(tmp_path: Path) -> None:
    fill(tmp_path, references=("isl", "polly"))
    text = page_of(tmp_path).text
    each = r"(?:after [\d,]+ schedules?|never)"
    for policy in ("bias_coeff_0", "uniform"):
        assert len(re.findall(rf"{policy} passes isl {each}, polly {each}\.", text)) == 1


def test_letters_of_all_pictures_are_as_large(tmp_path: Path) -> None:
    """A picture for a column is half as wide as one for a page, and both keep a least width."""
    fill(tmp_path, tuple(f"/a/kernel{number}.c" for number in range(30)), episodes=2)
    files, _ = write_report(read_sweep(tmp_path), tmp_path / "report.html")
    styles = re.findall(r'style="width:(\d+)pt;min-width:(\d+)pt"', files[0].read_text())
    wide, _, narrow = ((int(width), int(least)) for width, least in styles)
    assert wide[0] / narrow[0] == pytest.approx(7.2 / 3.5, rel=0.01)
    assert all(least < width for width, least in (wide, narrow))


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = dispatch.run(["report", *arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_the_command(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    fill(tmp_path, wrong=1)
    code, text, err = call(capsys, str(tmp_path))
    assert code == 0
    assert "gemm" in text
    assert f"{tmp_path}/report-best.svg" in text
    assert "4 wrong outputs" in err
    code, text, _ = call(capsys, str(tmp_path), "--json", "--out", str(tmp_path / "x.html"))
    data: dict[str, Any] = json.loads(text)
    assert (code, len(data["files"])) == (0, 7)
    assert {kernel["kernel"] for kernel in data["kernels"]} == {"gemm", "mvt"}
    assert all(Path(name).exists() for name in data["files"])


def test_what_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert call(capsys, str(tmp_path))[0] == 2
    fill(tmp_path)
    code, _, err = call(capsys, str(tmp_path), "--out", str(tmp_path / "x.pdf"))
    assert code == 2
    assert "ends in .html" in err
    (tmp_path / STORE_FILE).write_bytes(b"nonsense" * 1000)
    code, _, err = call(capsys, str(tmp_path))
    assert code == 2
    assert "expected the whole store of a sweep" in err
    assert not (tmp_path / "report.html").exists()


def test_a_machine_that_others_used_is_said(tmp_path: Path) -> None:
    fill(tmp_path)
    assert "not the sweep's alone" not in page_of(tmp_path).text
    with open_store(tmp_path / STORE_FILE) as store:
        store.add_background_load(BackgroundLoadRow("mvt", "mini", 1.0, 60.0, 0.75, 0.0))
    page = page_of(tmp_path)
    assert "not the sweep's alone; cores that others had on average" in page.text
    assert "mvt 0.8" in page.text
