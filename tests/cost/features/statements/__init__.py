"""Tests of polygym.cost.features.statements."""
