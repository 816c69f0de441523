"""Tests of agents.networks."""
