"""Tests of polygym.graphs.export."""
