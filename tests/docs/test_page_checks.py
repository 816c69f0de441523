"""The checks of pages report what is wrong with a page, and accept a good one."""

from pathlib import Path

import pytest

from tests.docs.page_blocks import page_blocks, without_blocks
from tests.docs.page_form import (
    forbidden_phrases,
    form_faults,
    long_sentences,
    mark_faults,
    sentences,
)
from tests.docs.page_links import anchors, link_faults
from tests.docs.page_runner import PageError, missing_line, run_page

GOOD = """\
# Blur an image

!!! abstract "In short"
    - First line.
    - Second line with `some code here`.
    - Third line, see [a page](other.md).

```console
$ echo found 1.25x
found 2.00x
```
"""


def write_page(folder: Path, text: str, name: str = "page.md") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def run_text(text: str, folder: Path, *, nightly: bool = False) -> int:
    (folder / "run").mkdir(exist_ok=True)
    return run_page(write_page(folder, text), folder / "run", nightly=nightly)


def test_blocks_have_language_title_line_and_marks() -> None:
    text = (
        'A\n\n```c title="a.c"\nint x;\n```\n\n<!-- nightly -->\n```python\npass\n```\n'
        "<!-- not run: needs a cluster -->\n\n```console\n$ a\n```\n\n"
        "- item\n\n    ```text\n    b\n    ```\n"
    )
    first, second, third, fourth = page_blocks(text)
    assert (first.language, first.title, first.line, first.text) == ("c", "a.c", 4, "int x;\n")
    assert second.is_nightly
    assert second.skip_reason is None
    assert third.skip_reason == "needs a cluster"
    assert (fourth.language, fourth.text) == ("text", "b\n")
    assert "int x" not in without_blocks(text)
    assert without_blocks(text).count("\n") == text.count("\n")


def test_a_mark_counts_directly_before_its_block() -> None:
    (block,) = page_blocks("<!-- not run: x -->\n\nText.\n\n```python\n```\n")
    assert block.skip_reason is None


def test_a_good_page_has_no_faults() -> None:
    assert list(form_faults(GOOD)) == []


@pytest.mark.parametrize(
    ("before", "after", "fault"),
    [
        ("# Blur", "Blur", "expected a title"),
        ('!!! abstract "In short"', "Text.", "expected !!! abstract"),
        ("    - Third line, see [a page](other.md).\n", "", "expected a summary of three lines"),
        ("    - First line.", "    First line.", "expected a summary line"),
        ("First line.", "word " * 26, "expected at most 25 words, found 26"),
        ("```console", "```", "expected the language of the block"),
        ("```console", "<!-- not run -->\n```console", "expected a reason"),
        ("\n```console", "\n" * 40 + "```console", "expected a code block before line 40"),
    ],
)
def test_a_bad_page_is_reported(before: str, after: str, fault: str) -> None:
    assert before in GOOD
    faults = list(form_faults(GOOD.replace(before, after, 1)))
    assert any(fault in one for one in faults), faults


def test_a_reason_stands_in_the_mark() -> None:
    assert list(mark_faults("<!-- not run: hours -->\n```console\n$ a\n```\n")) == []


def test_long_sentences_are_counted_without_code_tables_and_links() -> None:
    words = "word " * 30
    assert long_sentences(f"{words}end.") == [f"{words}end."]
    assert long_sentences(f"{words.strip()}.\n\n| {words * 2} |\n\n# {words * 2}\n") == []
    assert long_sentences(f"`{words * 2}` [a](b.md) is short.") == []
    assert long_sentences(f"- {words}\n- {words}") == []
    assert list(sentences("!!! note\n\n    One. Two.")) == ["One.", "Two."]


def test_phrases_of_another_style_are_found_in_prose_alone() -> None:
    assert forbidden_phrases("A\n\nIt runs\nBy itself.") == ["line 4: By itself"]
    assert forbidden_phrases("`by itself`\n\n```text\nelsewhere\n```\n") == []


def test_a_page_is_executed_in_its_order(tmp_path: Path) -> None:
    text = (
        '```text title="in.txt"\n1 fish\n```\n\n```console\n$ cat in.txt > out.txt\n$ cat out.txt\n'
        "1 fish\n```\n\n```python\nfrom pathlib import Path\n\n"
        "assert Path('run/out.txt').exists()\nprint(1)\n```\n\n```c\nint x;\n```\n"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        assert run_text(text, tmp_path) == 2


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("```python\nx = 1 / 0\n```\n", r"page.md:2: .*ZeroDivisionError"),
        ("```python\nif 0: print(1)\n```\n", "expected something printed"),
        ("```console\n$ echo one\ntwo\n```\n", r"page.md:2: (?s:.*)the line: two"),
        ("```console\n$ exit 3\n```\n", "expected exit code 0, found 3"),
        ("```console\n$ false\n```\n", "expected exit code 0, found 1"),
        ("```console\n$ echo hello; exit 3\nhello\n```\n", "expected exit code 0, found 3"),
        ("```console\n$ echo hello; exit 2\nhello\n```\n", "expected exit code 0, found 2"),
        ("```console\necho one\n```\n", "expected a command behind"),
        ('```c title="../a.c"\n```\n', "expected a file in the folder"),
    ],
)
def test_a_block_that_fails_is_reported(tmp_path: Path, text: str, fault: str) -> None:
    with pytest.raises(PageError, match=fault):
        run_text(text, tmp_path)


def test_a_command_may_answer_no_where_its_output_is_shown(tmp_path: Path) -> None:
    assert run_text("```console\n$ echo illegal; exit 1\nillegal\n```\n", tmp_path) == 1
    text = "```console\n$ echo 'a.c:1:1: error: no' >&2; exit 2\na.c:1:1: error: no\n```\n"
    assert run_text(text, tmp_path) == 1


def test_commands_go_on_in_the_next_line(tmp_path: Path) -> None:
    assert run_text("```console\n$ echo a \\\n  b\na b\n```\n", tmp_path) == 1


def test_marked_blocks_are_left_out(tmp_path: Path) -> None:
    text = (
        "<!-- not run: never -->\n```console\n$ exit 3\n```\n\n"
        "<!-- nightly -->\n```python\nraise ValueError\n```\n"
    )
    assert run_text(text, tmp_path) == 0
    with pytest.raises(PageError, match="ValueError"):
        run_text(text, tmp_path, nightly=True)


@pytest.mark.parametrize(
    ("expected", "printed", "missing"),
    [
        (["best 1.5x"], "best 23.25x", None),
        (["best 1.5x"], "best 7x", None),
        (["16 rows"], "17 rows", "16 rows"),
        (["a ... z"], "a b c z", None),
        (["...", "", "b"], "a\nb", None),
        (["a  b"], "x a b y", None),
        (["b", "a"], "a\nb", "a"),
        (["a", "a"], "a", "a"),
        (["v1.2.3"], "v1.2.4", "v1.2.3"),
        (["(a) [b] $x"], "(a) [b] $x", None),
    ],
)
def test_expected_lines_occur_in_their_order(
    expected: list[str], printed: str, missing: str | None
) -> None:
    assert missing_line(expected, printed) == missing


def test_links_and_anchors(tmp_path: Path) -> None:
    write_page(
        tmp_path, "# A title\n\n## Two `words`\n\n## Two words\n\n## X { #own }\n", "other.md"
    )
    assert anchors(tmp_path / "other.md") == {"a-title", "two-words", "two-words_1", "own"}
    page = write_page(
        tmp_path,
        "[a](other.md) [b](other.md#own) [c](gone.md) [d](other.md#gone)\n"
        "[e](made.md#x) [f](#gone)\n"
        "`[g](gone.md)` [`h`](gone.txt) <https://x.org> [i](https://x.org)\n",
    )
    assert list(link_faults(page, tmp_path, {"made.md"})) == [
        "expected a file, found the link gone.md",
        "expected an anchor of other.md, found the link other.md#gone",
        "expected an anchor of page.md, found the link #gone",
        "expected a file, found the link gone.txt",
    ]
