"""Tests of terms/whole_programs."""
