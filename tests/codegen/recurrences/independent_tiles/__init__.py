"""Tests of polygym.codegen.recurrences.independent_tiles."""
