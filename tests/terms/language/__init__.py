"""Tests of terms/language."""
