"""A Scop and a schedule in, machine code out."""
