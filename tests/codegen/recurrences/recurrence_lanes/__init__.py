"""Tests of polygym.codegen.recurrences.recurrence_lanes."""
