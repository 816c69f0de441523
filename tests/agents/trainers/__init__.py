"""Tests of agents.trainers."""
