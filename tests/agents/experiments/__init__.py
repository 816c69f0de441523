"""Tests of agents.experiments."""
