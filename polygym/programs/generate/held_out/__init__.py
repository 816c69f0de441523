"""Families of random programs on which nothing is trained or tuned: part of the test split.

``held-out:bands:17`` is the program of family ``bands`` and seed 17. A family is held out whole,
whatever the seed: no collection draws one, and no wildcard stands for them. The seeds of the split
are in ``polygym/agents/experiments/splits.yaml``, under ``held-out``.

A program has one nest of its family or two (60 and 40 in a hundred). The families have shapes that
the others, :mod:`polygym.programs.generate.nests` and :mod:`polygym.programs.generate.scalars`,
lack.

=====================  ============================================================================
``integer_families``   Bytes, fixed-point numbers of 16 bits, tables of integer scores
``layout_families``    Flat rows, arrays of structures, gathered elements
``loop_families``      Tiny trip counts, deep nests, bands, strides, levels of time, guards
=====================  ============================================================================
"""

from collections.abc import Callable

from polygym.programs.generate.held_out.integer_families import (
    byte_windows,
    fixed_point,
    score_tables,
)
from polygym.programs.generate.held_out.layout_families import flat_rows, gathers, records
from polygym.programs.generate.held_out.loop_families import (
    bands,
    decimation,
    deep_contractions,
    index_guards,
    short_blocks,
    time_levels,
)
from polygym.programs.generate.program_draft import ProgramDraft

HELD_OUT_PREFIX = "held-out:"

HELD_OUT_FAMILIES: dict[str, Callable[[ProgramDraft], None]] = {
    "byte-windows": byte_windows,
    "fixed-point": fixed_point,
    "score-tables": score_tables,
    "short-blocks": short_blocks,
    "deep-contractions": deep_contractions,
    "bands": bands,
    "decimation": decimation,
    "time-levels": time_levels,
    "index-guards": index_guards,
    "flat-rows": flat_rows,
    "records": records,
    "gathers": gathers,
}
"""The families by name. The order is part of the random choices: a new one stands last."""

__all__ = ["HELD_OUT_FAMILIES", "HELD_OUT_PREFIX"]
