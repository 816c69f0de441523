"""Tests of polygym.codegen.tree.analysis."""
