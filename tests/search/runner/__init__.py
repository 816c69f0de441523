"""Tests of polygym.search.runner."""
