"""Tests of terms/rules."""
