"""Studies of tensor comprehensions: gradients that are derived beside those that are written."""
