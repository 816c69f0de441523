"""Diagram of a measurement: the processes, the interleaved runs of two programs, the comparison.

The times are an example: 2.0 ms at best for the original order, 0.8 ms for the schedule.
"""

from collections.abc import Iterator

from docs.site.diagram_shapes import (
    FAINT,
    GREEN,
    GREY,
    INK,
    LIGHT_BLUE,
    LIGHT_GREEN,
    LIGHT_ORANGE,
    LIGHT_RED,
    ORANGE,
    RED,
    SKY,
    Diagram,
    arrow,
    box,
    heading,
    line,
    lines,
    rectangle,
    text,
)

_ORIGINAL = (2.1, 2.0, 2.6, 2.1)
_SCHEDULE = (0.9, 0.8, 1.1, 0.9)
_MILLISECOND = 38.0
_RESTORE = 12.0


def _processes() -> Iterator[str]:
    yield heading(16, 32, "Processes")
    top, height, width = 46.0, 78.0, 124.0
    boxes = (
        ("Compile server", ("generates code", "in limited time"), LIGHT_BLUE),
        ("Your process", ("asks; never runs", "generated code"), GREY),
        ("Supervisor", ("holds the arrays,", "enforces limits"), LIGHT_GREEN),
        ("Runner", ("runs one job,", "then ends"), LIGHT_ORANGE),
    )
    for number, (title, rows, fill) in enumerate(boxes):
        yield box(16 + 188 * number, top, width, height, title, rows, fill=fill)
    gaps = (142.0, 202.0), (330.0, 390.0), (518.0, 578.0)
    for (left, right), there, back in zip(
        gaps, ("code", "job", "fork"), ("schedule", "outcome", "times"), strict=True
    ):
        yield arrow((left, top + 28), (right, top + 28), head=7)
        yield text((left + right) / 2, top + 22, there, anchor="middle", room=56)
        yield arrow((right, top + 54), (left, top + 54), head=7)
        yield text((left + right) / 2, top + 70, back, anchor="middle", room=58)
    words = "If the runner crashes, only its measurement is lost."
    yield text(704, 146, words, anchor="end", fill=FAINT, room=430)


def _runs() -> Iterator[str]:
    yield heading(16, 186, "One job: the original order and the schedule in turn, by one clock")
    x, y, height = 30.0, 204.0, 40.0
    for times in zip(_ORIGINAL, _SCHEDULE, strict=True):
        for time, fill in zip(times, (SKY, ORANGE), strict=True):
            yield rectangle(x, y, _RESTORE, height, fill=GREY, stroke=FAINT, radius=0, weight=0.8)
            x += _RESTORE
            width = time * _MILLISECOND
            yield rectangle(x, y, width, height, fill=fill, stroke=INK, radius=0, weight=0.8)
            is_best = time in (min(_ORIGINAL), min(_SCHEDULE))
            middle, label = x + width / 2, f"{time}"
            yield text(middle, y + 25, label, anchor="middle", bold=is_best, room=width)
            x += width
    yield arrow((30, y + height + 8), (x + 14, y + height + 8), weight=1.2, head=7)
    yield text(x + 14, y + height + 24, "time", anchor="end")
    yield from _runs_legend(y + height + 26)


def _runs_legend(y: float) -> Iterator[str]:
    rows = (
        (30.0, GREY, "restore the arrays, clock stopped"),
        (276.0, SKY, "original, ms"),
        (392.0, ORANGE, "schedule, ms"),
    )
    for x, fill, words in rows:
        yield rectangle(x, y - 10, 12, 12, fill=fill, stroke=FAINT, radius=0, weight=0.8)
        yield text(x + 18, y, words, room=230)
    words = "A disturbance, as in the third turn, meets both. The smallest time of each counts."
    yield text(30, y + 22, words, room=674)


def _comparison() -> Iterator[str]:
    top = 328.0
    yield heading(16, top, "After the first and the last run: compare all output arrays")
    y = top + 16
    yield box(16, y, 150, 62, "Outputs", ("original / schedule,", "bit for bit"), fill=GREY)
    yield arrow((168, y + 16), (246, y + 16), colour=GREEN, weight=2)
    yield text(204, y + 10, "equal", anchor="middle", room=60)
    yield arrow((168, y + 50), (246, y + 50), colour=RED, weight=2)
    yield text(204, y + 44, "different", anchor="middle", room=66)
    yield box(248, y, 140, 28, "ok", fill=LIGHT_GREEN)
    yield box(248, y + 36, 140, 28, "wrong output", fill=LIGHT_RED)
    yield arrow((390, y + 14), (430, y + 14))
    yield box(432, y - 2, 272, 30, rows=("speedup = 2.0 / 0.8 = 2.5",), fill=LIGHT_GREEN)
    words = ("Also outcomes: timeout, crash, out of", "memory, out of range, does not compile")
    yield lines(432, y + 47, words, fill=FAINT, room=272)


def _shapes() -> Iterator[str]:
    yield from _processes()
    yield line((16, 162), (704, 162), colour="#c3cad3")
    yield from _runs()
    yield line((16, 306), (704, 306), colour="#c3cad3")
    yield from _comparison()


DIAGRAM = Diagram(
    "measuring",
    "A measurement: processes, interleaved runs, comparison of outputs",
    "Your process gets code from a compile server and sends a job to a supervisor. The "
    "supervisor forks a runner for one job. In it the original order and the schedule run in turn; "
    "arrays are restored before each run, outside the clock. Equal outputs give the status ok and "
    "the speedup 2.0 / 0.8 = 2.5 from the smallest times; others give wrong output.",
    428,
    tuple(_shapes()),
)
