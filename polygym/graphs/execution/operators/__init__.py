"""Loop bodies of the operators that are more than elementwise."""
