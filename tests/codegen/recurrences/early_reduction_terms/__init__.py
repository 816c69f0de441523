"""Tests of polygym.codegen.recurrences.early_reduction_terms."""
