"""Tests of polygym.terms.gradient."""
