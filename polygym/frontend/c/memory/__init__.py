"""Memory: pointers as subscripts, flat arrays as arrays of rows, sizes that nothing declares."""

__all__: list[str] = []
