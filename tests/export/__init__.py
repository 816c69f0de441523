"""Tests of exported code."""
