"""Public models, and modules written for this, as PyTorch exports them."""
