"""Reference page of mapping options, from the table of knobs."""

from dataclasses import fields

from docs.site.markdown import PageOpening, code, heading, page, plain, sentence, table
from polygym.gpu.mapping.device_mapping import (
    DEFAULT_DEVICE_MAPPING,
    DEVICE_OPTIONS,
    DeviceOption,
)
from polygym.mapping.knobs import KNOB_NAMED, KNOBS, QUESTIONS, Knob, KnobQuestion, LoopDirection
from polygym.mapping.mapping import DEFAULT_MAPPING, SEQUENTIAL_MAPPING, Mapping

_OPENING = PageOpening(
    (
        "A mapping is a text of options. An option that it does not name has its default.",
        "`model` is a default that the planner decides for each loop nest; no text states it.",
        "`default` and `sequential` are whole mappings.",
    ),
    """\
```console
$ polygym bench gemm --dataset mini --schedules isl --mapping 'threads=2 tile=16x16 unroll_jam=4'
gemm ... 1.50x
```
""",
)

_INTRODUCTION = """\
An option *per nest* also has values for the nest of a statement: `S3:tile=16x256`.
"""

_DEVICE = """\
`device=cuda` maps a schedule to an NVIDIA GPU. A mapping has then these options instead; what it
does not name, a model of the device decides. `polygym export` and `polygym show` need no GPU.

```console
$ polygym export gemm --dataset small --mapping 'device=cuda block=16x16' --kind ptx --out kernels
kernel_gemm: gemm
...
```
"""

_QUESTIONS = """\
An episode of `polygym/Optimize-v0` asks about the mapping in this order. Each question also has the
answer that keeps the default.
"""

_VARIANTS = """\
Searches try these variants of a mapping first.
"""


def knobs_page() -> str:
    """Return the page: options, questions, variants."""
    return page(
        "Mapping options",
        _OPENING,
        _INTRODUCTION,
        heading(2, "Options"),
        table(
            ("Option", "Values", "Default", "Per nest", "Meaning"),
            [_option(knob) for knob in KNOBS],
        ),
        f"`sequential` stands for {code(_sequential_text())}.",
        heading(2, "On a GPU"),
        _DEVICE,
        table(
            ("Option", "Values", "Default", "Meaning"),
            [_device_option(name, option) for name, option in DEVICE_OPTIONS.items()],
        ),
        heading(2, "Questions"),
        _QUESTIONS,
        table(
            ("Question", "Of", "Options", "Answers", "Asked"),
            [_question(question) for question in QUESTIONS.values()],
        ),
        heading(2, "Variants"),
        _VARIANTS,
        table(
            ("Option", "Variants"),
            [
                (code(knob.name), ", ".join(map(code, knob.variants)))
                for knob in KNOBS
                if knob.variants
            ],
        ),
    )


def _device_option(name: str, option: DeviceOption) -> tuple[str, ...]:
    value = getattr(DEFAULT_DEVICE_MAPPING, name)
    default = "model" if value is None else code(option.text(value))
    return code(name), plain(option.expected), default, sentence(option.meaning)


def _option(knob: Knob) -> tuple[str, ...]:
    value = getattr(DEFAULT_MAPPING, knob.name)
    default = "model" if value is None else code(knob.domain.text(value))
    needs = " (with several threads)" if knob.needs_threads else ""
    return (
        code(knob.name),
        plain(knob.domain.expected),
        default,
        "yes" if knob.is_per_nest else "no",
        sentence(plain(knob.doc)) + needs,
    )


def _question(question: KnobQuestion) -> tuple[str, ...]:
    match question.direction:
        case None if not KNOB_NAMED[question.knobs[0]].is_per_nest:
            subject = "the program"
        case None:
            subject = "each nest"
        case LoopDirection.INWARD:
            subject = "each loop of a nest, inwards"
        case LoopDirection.OUTWARD:
            subject = "each loop of a nest, outwards"
    return (
        code(question.name),
        subject,
        ", ".join(map(code, question.knobs)),
        plain(question.answers),
        question.condition or "always",
    )


def _sequential_text() -> str:
    """Return the options of the sequential mapping that are not the default."""
    texts = []
    for entry in fields(Mapping):
        value = getattr(SEQUENTIAL_MAPPING, entry.name)
        if entry.name in KNOB_NAMED and value != getattr(DEFAULT_MAPPING, entry.name):
            texts.append(f"{entry.name}={KNOB_NAMED[entry.name].domain.text(value)}")
    return " ".join(texts)
