"""Tests of polygym.frontend.c.source."""
