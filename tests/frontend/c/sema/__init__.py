"""Tests of polygym.frontend.c.sema."""
