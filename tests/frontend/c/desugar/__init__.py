"""Tests of polygym.frontend.c.desugar."""
