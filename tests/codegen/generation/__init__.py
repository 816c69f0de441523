"""Tests of polygym.codegen.generation."""
