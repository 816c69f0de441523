"""Tests of polygym.cost.features.loops."""
