"""Tests of polygym.frontend.c.scop."""
