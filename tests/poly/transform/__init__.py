"""Tests of polygym.poly.transform."""
