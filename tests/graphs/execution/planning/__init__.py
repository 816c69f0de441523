"""Tests of polygym.graphs.execution.planning."""
