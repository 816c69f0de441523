"""Tests of polygym.codegen.analysis."""
