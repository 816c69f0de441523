"""Tests of polygym.codegen.recurrences.streams."""
