"""Tests of scans of files and projects."""
