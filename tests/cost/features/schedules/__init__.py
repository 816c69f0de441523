"""Tests of polygym.cost.features.schedules."""
