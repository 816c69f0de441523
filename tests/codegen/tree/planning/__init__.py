"""Tests of polygym.codegen.tree.planning."""
