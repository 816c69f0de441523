"""Tests of sessions, transcripts, the scripted agent and the servers."""
