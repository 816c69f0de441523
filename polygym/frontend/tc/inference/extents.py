"""Sizes of tensors as functions of the symbolic sizes: for isl, and as C text."""

from __future__ import annotations

import islpy as isl

from polygym.poly.isl_values import isl_c_text


def extent_of(valid: isl.Set, context: isl.Set) -> isl.PwAff:
    """Return how many values a subscript may have, which count from 0."""
    last = valid.dim_max(0)
    val = isl.Val.int_from_si(valid.get_ctx(), 1)
    return last.add_constant_val(val).gist(context).coalesce()


def c_text_of(size: isl.PwAff, context: isl.Set) -> str:
    """Return a size as C text: ``M``, ``(H - KH) / 2 + 1``, ``M <= N ? M : N``."""
    build = isl.AstBuild.from_context(context)
    pieces = size.get_pieces()
    texts = [isl_c_text(build.expr_from_pw_aff(isl.PwAff.from_aff(value))) for _, value in pieces]
    text = texts[-1]
    for (where, _), value in zip(reversed(pieces[:-1]), reversed(texts[:-1]), strict=True):
        text = f"({isl_c_text(build.expr_from_set(where))} ? {value} : {text})"
    return text
