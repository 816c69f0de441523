"""Tests of agents.evaluation."""
