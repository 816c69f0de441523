"""C text in, Scop out."""
