"""Tests of polygym.cost.features.programs."""
