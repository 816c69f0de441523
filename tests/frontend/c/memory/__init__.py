"""Tests of polygym.frontend.c.memory."""
