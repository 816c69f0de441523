"""Tests of polygym.codegen.tree.transforms."""
