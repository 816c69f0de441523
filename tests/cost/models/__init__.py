"""Tests of polygym.cost.models."""
