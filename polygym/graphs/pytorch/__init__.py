"""Modules of PyTorch: optimised, compiled, and called as they were; needs the package torch.

``structure`` flattens arguments and results into tensors with names. ``exporter`` has PyTorch write
a module as ONNX, in memory. ``compiled_module`` optimises and compiles it, and compares the results
with the module's.
"""
