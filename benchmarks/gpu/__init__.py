"""The GPU back end on a GPU: right, then tuned, then beside PyTorch and cuBLAS."""
