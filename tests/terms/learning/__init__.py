"""Tests of terms/learning."""
