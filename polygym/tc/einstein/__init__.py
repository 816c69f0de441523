"""``einsum`` by comprehensions: ``notation`` reads equations, ``sums`` computes them."""
