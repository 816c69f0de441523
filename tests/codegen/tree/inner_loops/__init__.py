"""Tests of polygym.codegen.tree.inner_loops."""
