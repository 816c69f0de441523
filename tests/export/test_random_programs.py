"""Random programs, exported as an object and as C, do what their sources do at all sizes."""

from __future__ import annotations

from pathlib import Path

import pytest

from polygym.export.exporting import ExportOptions
from polygym.export.writing import ExportKind
from polygym.frontend.c import parse_text
from polygym.mapping.mapping import DEFAULT_MAPPING, Mapping, parse_mapping
from polygym.programs.generate import source_of_name
from tests.export.against_source import check_like_source

_MAPPINGS = (
    DEFAULT_MAPPING,
    parse_mapping("threads=2"),
    parse_mapping("tile=8 unroll_jam=2 vector_bits=256"),
    parse_mapping("sequential"),
)


@pytest.mark.rotates
@pytest.mark.parametrize("kind", [ExportKind.OBJECT, ExportKind.C], ids=lambda kind: kind.value)
@pytest.mark.parametrize("seed", range(120))
def test_a_random_program(seed: int, kind: ExportKind, tmp_path: Path) -> None:
    text = source_of_name(f"random:{seed}")
    names = [parameter.name for parameter in parse_text(text, file="program.c").parameters]

    def sizes(size: int) -> dict[str, int]:
        """Return different sizes for all parameters, near to one."""
        return {name: size + 2 * place for place, name in enumerate(names)}

    first, second = sizes(20), sizes(13)
    mapping: Mapping = _MAPPINGS[seed % len(_MAPPINGS)]
    check_like_source(
        tmp_path,
        text,
        first,
        *(sizes(size) for size in (21, 19, 13, 4)),
        kind=kind,
        mapping=mapping,
        options=ExportOptions(sizes=(tuple(first.items()), tuple(second.items()))),
    )
