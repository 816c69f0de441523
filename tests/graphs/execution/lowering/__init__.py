"""Tests of polygym.graphs.execution.lowering."""
