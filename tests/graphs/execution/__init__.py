"""Models as machine code: results, memory, times."""
