"""Tests of polygym.codegen.recurrences.skewed_copies."""
