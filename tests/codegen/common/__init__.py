"""What the floors of code generation agree about."""
