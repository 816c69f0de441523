"""The page of a report: one HTML file with everything in it, for browsers without a network.

No scripts. The pictures are SVG files inside of the page; they are drawn on white, also where the
reader prefers a dark page. Their letters are as large as the text in all of them, since a picture
for a column of a paper stays half as wide as one for a page. Wide things scroll by themselves, so
that the page fits narrow screens and a picture's letters never become too small to be read.

Writing a report: the page, and a PNG and an SVG file of each picture beside it.
"""

import base64
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from operator import attrgetter
from pathlib import Path

from polygym.cost.limit.bound import limit_share_text
from polygym.errors import InternalError
from polygym.files import create_folder, write_atomically
from polygym.mapping.mapping import TOLERANCE_TEXT
from polygym.ratios import ratio_text
from polygym.runtime.worker.outcome import OutcomeStatus
from polygym.search.sweep.reader import SweepContents
from polygym.search.sweep.report.figures import ReportFigure, plural, sweep_figures
from polygym.search.sweep.rows import ISL, SweepRun
from polygym.search.sweep.settings import SweepSetting
from polygym.search.sweep.statistics import (
    KernelSummary,
    background_load_note,
    mean_best,
    mean_of_limit,
    mean_over,
    mean_reference,
    other_compilers,
    summaries,
)

_STYLE = """
:root { color-scheme: light dark; --ink: #1f2933; --faint: #5b6774; --paper: #ffffff;
  --line: #d5dae1; --card: #f5f7fa; --bad: #b00020; --bad-paper: #fdecee; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ee; --faint: #a3adb9; --paper: #14181d; --line: #39424d; --card: #1d232a;
    --bad: #ff8a94; --bad-paper: #3a161a; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 64rem; padding: 1.5rem 1rem 4rem; color: var(--ink);
  background: var(--paper); font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; margin: 0 0 .25rem; } h2 { font-size: 1.15rem; margin: 2.5rem 0 .5rem; }
p { margin: .5rem 0; } .faint { color: var(--faint); }
.alarm { border: 2px solid var(--bad); background: var(--bad-paper); color: var(--bad);
  padding: .75rem 1rem; border-radius: .4rem; font-weight: 600; margin: 1rem 0; }
.numbers { display: grid; grid-template-columns: repeat(auto-fill, minmax(11rem, 1fr)); gap: .75rem;
  margin: 1.25rem 0; }
.number { background: var(--card); border-radius: .4rem; padding: .7rem .9rem; }
.number b { display: block; font-size: 1.5rem; }
.number span { display: block; color: var(--faint); } .number span + span { font-size: .85rem; }
figure { margin: 0; } figure img { display: block; max-width: 100%; background: #fff; }
.sheet { background: #fff; border: 1px solid var(--line); border-radius: .4rem; padding: .5rem;
  overflow-x: auto; }
.sheet img { margin: 0 auto; }
figcaption { color: var(--faint); font-size: .92rem; margin-top: .5rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .87rem; font-variant-numeric: tabular-nums;
  width: 100%; }
th, td { padding: .3rem .35rem; text-align: right; border-bottom: 1px solid var(--line);
  white-space: nowrap; }
thead th { white-space: normal; vertical-align: bottom; line-height: 1.2; }
th:first-child, td:first-child { text-align: left; position: sticky; left: 0;
  background: var(--paper); }
tfoot td { font-weight: 600; border-bottom: 0; } td.bad { color: var(--bad); font-weight: 700; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; font-size: .92rem; }
dt { color: var(--faint); } dd { margin: 0; overflow-wrap: anywhere; }
"""

# How many times larger than on paper, where letters have 7 points; and how far pictures may shrink.
_FONT_SCALE, _MIN_SCALE = 1.4, 0.9
_POINTS = re.compile(rb'<svg [^>]*?width="([0-9.]+)pt"')


@dataclass(frozen=True, slots=True)
class ReportPage:
    """What the page is about."""

    setting: SweepSetting
    policies: tuple[str, ...]
    summaries: tuple[KernelSummary, ...]
    figures: tuple[ReportFigure, ...]
    runs: tuple[SweepRun, ...]


def page_html(page: ReportPage) -> str:
    """Return the page."""
    summaries = page.summaries
    parts = [
        "<h1>polygym sweep</h1>",
        f'<p class="faint">{escape(_subtitle(page))}</p>',
        _alarm(page),
        _errors(summaries),
        _busy_machine(summaries),
        _numbers(summaries),
        *(_figure(figure) for figure in page.figures),
        "<h2>All programs</h2>",
        _table(summaries),
        _missing_compilers(summaries),
        "<h2>How it was measured</h2>",
        _conditions(page),
    ]
    body = "\n".join(filter(None, parts))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>polygym sweep</title>\n<style>{_STYLE}</style>\n</head>\n"
        f"<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def _subtitle(page: ReportPage) -> str:
    explored = sum(summary.explored for summary in page.summaries)
    return (
        f"{plural(len(page.summaries), 'program')}, {plural(explored, 'schedule')} explored by "
        f"{', '.join(page.policies) or 'nobody yet'}, "
        f"{plural(page.setting.evaluation.threads, 'thread')}; speedups are over LLVM -O3 of the "
        "original order"
    )


def _alarm(page: ReportPage) -> str:
    """Say loudly that something was computed wrong, or crashed; nothing where all was right."""
    blame = page.setting.evaluation.mapping.mismatch_reason
    what = f"Schedules computed something else than the original order: {blame}."
    crash = "The code of legal schedules crashed: a defect of polygym."
    text = ""
    for title, kind, about in (("Wrong outputs", "wrong", what), ("Crashes", "crashed", crash)):
        counts = {summary.label: getattr(summary.defects, kind) for summary in page.summaries}
        if total := sum(counts.values()):
            which = ", ".join(f"{label} ({count})" for label, count in counts.items() if count)
            text += (
                f'<div class="alarm" role="alert">{title}: {total}. {about} '
                f"Programs: {escape(which)}.</div>"
            )
    return text


def _errors(summaries: Sequence[KernelSummary]) -> str:
    errors = [_of(summary.label, summary.error) for summary in summaries if summary.error]
    lines = "".join(f"<li>{escape(error)}</li>" for error in errors)
    return f'<div class="alarm">Not searched to the end:<ul>{lines}</ul></div>' if lines else ""


def _of(label: str, error: str) -> str:
    """Return an error with its program's name, which many begin with.

    >>> _of("lu", "no memory"), _of("lu", "lu: no memory")
    ('lu: no memory', 'lu: no memory')
    """
    return error if error.startswith(f"{label}: ") else f"{label}: {error}"


def _busy_machine(summaries: Sequence[KernelSummary]) -> str:
    """Say that others used the machine too; nothing where they did not."""
    note = background_load_note(summaries)
    return f"<p><strong>{escape(note)}</strong></p>" if note else ""


def _missing_compilers(summaries: Sequence[KernelSummary]) -> str:
    """Say why some compilers have no speedup."""
    lines = [
        f"<li>{escape(summary.label)}, {escape(name)}: {escape(reason)}</li>"
        for summary in summaries
        for name, reason in summary.missing_compilers.items()
    ]
    return f"<p>Not compared:</p><ul>{''.join(lines)}</ul>" if lines else ""


def _numbers(summaries: Sequence[KernelSummary]) -> str:
    """Return the few numbers that matter, large: a card for the best and one for each reference."""
    names = dict.fromkeys(name for summary in summaries for name in summary.references)
    cards = [(ratio_text(mean_best(summaries)), ["best over -O3"])]
    for name in names:
        pairs = [(summary.best, summary.references.get(name)) for summary in summaries]
        both = [(best, other) for best, other in pairs if best and other]
        count = sum(best >= other for best, other in both)
        notes = [
            f"best over {name}",
            f"{name} over -O3: {ratio_text(mean_reference(summaries, name))}",
            f"no slower in {count} of {len(both)}",
        ]
        cards.append((ratio_text(mean_over(summaries, name)), notes))
    if (reached := mean_of_limit(summaries)) is not None:
        count = sum(summary.share_of_limit is not None for summary in summaries)
        notes = ["of the limit", f"the best of {plural(count, 'program')}"]
        cards.append((limit_share_text(reached), notes))
    shown = "".join(
        f'<div class="number"><b>{escape(value)}</b>'
        + "".join(f"<span>{escape(note)}</span>" for note in notes)
        + "</div>"
        for value, notes in cards
    )
    return f'<div class="numbers">{shown}</div><p class="faint">Geometric means.</p>'


def _figure(figure: ReportFigure) -> str:
    data = base64.b64encode(figure.picture.svg).decode("ascii")
    match = _POINTS.search(figure.picture.svg)
    if match is None:
        raise InternalError("a picture does not say how wide it is")
    points = float(match[1])  # how wide it is on paper
    width = f"width:{_FONT_SCALE * points:.0f}pt;min-width:{_MIN_SCALE * points:.0f}pt"
    return (
        f'<h2>{escape(figure.title)}</h2>\n<figure><div class="sheet">'
        f'<img alt="{escape(figure.title)}" style="{width}" '
        f'src="data:image/svg+xml;base64,{data}"></div>'
        f"<figcaption>{escape(figure.caption)}</figcaption></figure>"
    )


def _table(summaries: Sequence[KernelSummary]) -> str:
    names = list(dict.fromkeys([ISL, *(name for row in summaries for name in row.references)]))
    counted = (OutcomeStatus.OK, OutcomeStatus.WRONG_OUTPUT, OutcomeStatus.CRASH)
    kinds = [status.value for status in OutcomeStatus if status not in counted]
    kinds = [kind for kind in kinds if any(row.statuses.get(kind) for row in summaries)]
    limited = any(row.limit for row in summaries)
    counts: list[Callable[[KernelSummary], int]] = [
        *map(attrgetter, ("explored", "distinct", "ok")),
        *(lambda row, kind=kind: row.statuses.get(kind, 0) for kind in kinds),
        *map(attrgetter, ("defects.wrong", "defects.crashed")),
    ]
    head = ["program", "at", "best", *names, "over isl", *["of limit", "bound by"] * limited]
    head += ["explored", "distinct", "ok", *kinds]
    head += ["wrong output", "crash", "drift", "others"]
    rows = []
    for summary in summaries:
        cells = [
            summary.label,
            summary.dataset,
            ratio_text(summary.best),
            *(ratio_text(summary.references.get(name)) for name in names),
            ratio_text(summary.speedup_over_isl),
            *[limit_share_text(summary.share_of_limit), summary.bound_by or "-"] * limited,
            *(str(count(summary)) for count in counts[:-2]),
        ]
        defects = (count(summary) for count in counts[-2:])
        bad = "".join(f'<td class="bad">{n}</td>' if n else "<td>0</td>" for n in defects)
        rows.append(
            f"<tr>{_cells(cells)}{bad}<td>{ratio_text(summary.drift)}</td>"
            f"<td>{f'{summary.background_load:.1f}' if summary.background_load else '-'}</td></tr>"
        )
    means = [
        "together",
        "",
        ratio_text(mean_best(summaries)),
        *(ratio_text(mean_reference(summaries, name)) for name in names),
        ratio_text(mean_over(summaries, ISL)),
        *[limit_share_text(mean_of_limit(summaries)), ""] * limited,
    ]
    sums = [sum(map(count, summaries)) for count in counts]
    foot = _cells([*means, *map(str, sums), "", ""])
    columns = "".join(f'<th scope="col">{escape(name)}</th>' for name in head)
    return (
        f'<div class="wide"><table><thead><tr>{columns}</tr></thead><tbody>{"".join(rows)}</tbody>'
        f"<tfoot><tr>{foot}</tr></tfoot></table></div>"
        '<p class="faint">Drift: the slowest of the original order\'s times during the search over '
        "the fastest. Others: cores that anything else had on average while the program was "
        "measured. Distinct schedules are measured once, a caller that found them. Together: the "
        "geometric means of speedups and of shares of the limit, the sums of counts.</p>"
    )


def _conditions(page: ReportPage) -> str:
    setting = page.setting
    pairs = (
        ("searched at", str(setting.search_dataset)),
        ("confirmed at", str(setting.dataset)),
        ("policies", ", ".join(page.policies)),
        ("seed", str(setting.seed)),
        ("threads", str(setting.evaluation.threads)),
        ("mapping", str(setting.evaluation.mapping)),
        ("regions and sizes of files", setting.function or ""),
        ("changed before", "" if setting.recipe.changes_nothing else str(setting.recipe)),
        *(
            (f"of {summary.label}", str(summary.variant))
            for summary in page.summaries
            if summary.variant
        ),
        ("outputs", setting.evaluation.mapping.timing_caveat or "compared bit for bit"),
        ("outputs of other compilers", _tolerance(page.summaries)),
        ("cut off after", f"{setting.evaluation.timeout_factor:g} times the original order's time"),
        ("code given up after", f"{setting.evaluation.compile_seconds:g} s of generating it"),
        ("measured on", _unique(f"{r.processor}, {r.cores} cores, {r.system}" for r in page.runs)),
        ("by", _unique(f"polygym {run.version}" for run in page.runs)),
        *_compilers(page.runs),
    )
    entries = "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in pairs if value
    )
    return f"<dl>{entries}</dl>"


def _tolerance(summaries: Sequence[KernelSummary]) -> str:
    """Say how the outputs of other compilers are compared; nothing where there are none."""
    others = other_compilers(summaries)
    return f"{', '.join(others)}: to a relative tolerance of {TOLERANCE_TEXT}" if others else ""


def _compilers(runs: Sequence[SweepRun]) -> Iterator[tuple[str, str]]:
    """Yield the name of each other compiler and what it calls itself."""
    versions: dict[str, list[str]] = {}
    for run in runs:
        for name, text in run.compilers:
            versions.setdefault(name, []).append(text)
    for name, texts in versions.items():
        yield name, _unique(texts)


def _unique(texts: Iterable[str]) -> str:
    """Return texts, each once."""
    return "; ".join(dict.fromkeys(texts))


def _cells(cells: Iterable[str]) -> str:
    return "".join(f"<td>{escape(cell)}</td>" for cell in cells)


def write_report(
    contents: SweepContents, page: Path
) -> tuple[tuple[Path, ...], list[KernelSummary]]:
    """Write a report; return the paths of its files, the page first, and what is in it.

    The pictures have the page's name and their own: ``report.html``, ``report-best.svg``.
    """
    all_summaries = summaries(contents)
    drawn = sweep_figures(contents, all_summaries)
    policies = tuple(dict.fromkeys(row.policy for row in contents.episodes))
    text = page_html(ReportPage(contents.setting, policies, all_summaries, drawn, contents.runs))
    create_folder(page.parent)
    files = [(page, text.encode())]
    for figure in drawn:
        for ending, data in ((".png", figure.picture.png), (".svg", figure.picture.svg)):
            files.append((page.with_name(f"{page.stem}-{figure.name}{ending}"), data))
    for path, data in files:
        write_atomically(path, data)
    return tuple(path for path, _ in files), list(all_summaries)
