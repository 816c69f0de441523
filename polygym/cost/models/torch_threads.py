"""With how many threads PyTorch computes.

For networks as small as those of this project one is as fast as several and always adds in the
same order. Threads of PyTorch wait for each other busily, also for one that has no processor:
beside other work a small training (A2C) took 14.8 CPU seconds with two and 1.6 with one, and what
is measured meanwhile has to share the processors with them.
"""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def use_torch_threads(count: int) -> Iterator[None]:
    """Let PyTorch use so many threads, and as many as before afterwards."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
