"""Semantics: symbols, declarations, types, affine and other expressions."""

__all__: list[str] = []
