"""Tests of polygym.mapping."""
