"""Loops that are not affine: induction variables, trip counts, polynomials, ranges of rows."""

__all__: list[str] = []
