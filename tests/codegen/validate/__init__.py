"""Tests of polygym.codegen.validate."""
