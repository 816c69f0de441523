"""Tests of where programs keep their values."""
