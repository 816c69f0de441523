"""Tests of polygym.codegen.transforms."""
