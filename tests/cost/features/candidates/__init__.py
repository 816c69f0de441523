"""Tests of polygym.cost.features.candidates."""
