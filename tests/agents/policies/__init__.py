"""Tests of agents.policies."""
