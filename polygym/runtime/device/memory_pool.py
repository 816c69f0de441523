"""Memory of a device that is kept when it is given back, for the next who asks for so much.

The driver takes microseconds to milliseconds for new memory and waits for all work first. Sizes are
rounded up to a power of two, or above 2 MiB to whole blocks of that size. Example: 5000 and 8192
bytes are pieces of one kind.
"""

from polygym.foreign import cuda_driver

_LEAST = 512
_BLOCK = 2 * 1024 * 1024


def rounded_size(size: int) -> int:
    """Return how many bytes a piece has that is to hold ``size``.

    >>> rounded_size(0), rounded_size(5000), rounded_size(5 * 2**20)
    (512, 8192, 6291456)
    """
    if size > _BLOCK:
        return -(-size // _BLOCK) * _BLOCK
    return max(_LEAST, 1 << (size - 1).bit_length()) if size else _LEAST


class MemoryPool:
    """Pieces of memory of the current device."""

    def __init__(self) -> None:
        """Begin without any."""
        self._free: dict[int, list[int]] = {}
        self._sizes: dict[int, int] = {}

    def allocate(self, size: int) -> int:
        """Return the address of so many bytes.

        Raises:
            MemoryError: the device has not so much, even after free pieces were given back.
        """
        rounded = rounded_size(size)
        free = self._free.get(rounded)
        if free:
            address = free.pop()
        else:
            try:
                address = cuda_driver.allocate(rounded)
            except MemoryError:
                self.trim()
                address = cuda_driver.allocate(rounded)
        self._sizes[address] = rounded
        return address

    def release(self, address: int) -> None:
        """Take a piece back."""
        self._free.setdefault(self._sizes.pop(address), []).append(address)

    def trim(self) -> None:
        """Give free pieces back to the driver."""
        for pieces in self._free.values():
            while pieces:
                cuda_driver.release(pieces.pop())
