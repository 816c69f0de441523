"""Tests of polygym.compiler.poly.spaces."""
