"""Tests of polygym.poly.spaces."""
