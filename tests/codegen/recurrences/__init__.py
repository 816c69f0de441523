"""Tests of polygym.codegen.recurrences."""
