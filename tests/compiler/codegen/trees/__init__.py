"""Trees of code generation."""
