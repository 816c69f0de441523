"""Semantics: symbols, declarations, types, affine and other expressions."""
