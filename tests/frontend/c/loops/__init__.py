"""Tests of polygym.frontend.c.loops."""
