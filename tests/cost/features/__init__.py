"""Tests of polygym.cost.features."""
