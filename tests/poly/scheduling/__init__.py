"""Tests of polygym.poly.scheduling."""
