"""Writing a report: the page, and a PNG and an SVG file of each picture beside it."""

from pathlib import Path

from polygym.files import write_atomically
from polygym.search.sweep.reader import SweepContents
from polygym.search.sweep.report.figures import sweep_figures
from polygym.search.sweep.report.page import ReportPage, page_html
from polygym.search.sweep.statistics import KernelSummary, summaries


def write_report(
    contents: SweepContents, page: Path
) -> tuple[tuple[Path, ...], list[KernelSummary]]:
    """Write a report; return the paths of its files, the page first, and what is in it.

    The pictures have the page's name and their own: ``report.html``, ``report-best.svg``.
    """
    kernel_summaries = summaries(contents)
    drawn = sweep_figures(contents, kernel_summaries)
    policies = tuple(dict.fromkeys(episode_row.policy for episode_row in contents.episodes))
    text = page_html(ReportPage(contents.setting, policies, kernel_summaries, drawn, contents.runs))
    page.parent.mkdir(parents=True, exist_ok=True)
    files = [(page, text.encode())]
    for figure in drawn:
        for ending, data in ((".png", figure.picture.png), (".svg", figure.picture.svg)):
            files.append((page.with_name(f"{page.stem}-{figure.name}{ending}"), data))
    for path, data in files:
        write_atomically(path, data)
    return tuple(path for path, _ in files), list(kernel_summaries)
