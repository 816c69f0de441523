"""Gains of rewriting on modules with biases, beside the same without, and sums of many addends."""
