"""Tests of search/planning."""
