"""Frames as a film: a GIF, an MP4, or pictures in a folder; whole or not there.

The name says which: ``x.gif`` is written by Pillow, ``x.mp4`` by the ffmpeg that imageio-ffmpeg
brings, and a name without an ending is a folder of ``frame-0000.png``, ``frame-0001.png`` and so
on. Every frame is a frame of the film, also where it is like the one before. In a GIF and an MP4
the last one is held: with 4 frames a second, 10 frames take 9 · 0.25 s and 3 s.

What fails or is ended while frames come leaves what was there before as it was.
"""

import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polygym.errors import InputError, PolygymError
from polygym.files import atomic_file, sync_folder

Frame = NDArray[np.uint8]

LAST_FRAME_SECONDS = 3.0
"""For how many seconds the last frame is shown."""

LEAST_FPS, MOST_FPS = 0.1, 50.0
"""So many frames a second: players show GIFs with more of them slowly."""

_COLORS = 128


def expect_video_path(path: Path) -> None:
    """Refuse what no film can be written to, before there is one.

    Raises:
        InputError: the name has another ending, something else is there, or a library is missing.
    """
    path, ending = path.resolve(), path.suffix.lower()
    if ending not in _WRITERS:
        raise InputError(
            f"{path.name}: expected a name that ends in .gif or .mp4, or in nothing for a folder, "
            f"found {path.suffix}"
        )
    if not path.parent.is_dir():
        raise InputError(f"{path}: expected a folder to write to, found no {path.parent}")
    if ending:
        if path.is_dir():
            raise InputError(f"{path}: expected a file or nothing, found a folder")
    elif path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise InputError(f"{path}: expected an empty folder or nothing, found something there")
    if ending == ".mp4":
        _ffmpeg()


def write_video(path: Path, frames: Iterable[Frame], fps: float) -> int:
    """Write a film of at least one frame; return how many there are.

    Raises:
        InputError: it cannot be written.
    """
    expect_video_path(path)
    path = path.resolve()
    count = 0

    def counted() -> Iterator[Frame]:
        nonlocal count
        for frame in frames:
            count += 1
            yield frame

    try:
        _WRITERS[path.suffix.lower()](path, counted(), fps)
    except OSError as error:
        (said, *_) = str(error).splitlines() or ["an error"]
        raise InputError(f"{path}: expected to write there, found: {said}") from None
    return count


def _write_gif(path: Path, frames: Iterator[Frame], fps: float) -> None:
    from PIL import Image

    def images() -> Iterator[Image.Image]:
        for frame, further in pairwise(chain(frames, [None])):
            assert frame is not None
            image = Image.fromarray(frame).quantize(_COLORS, dither=Image.Dither.NONE)
            image.info["duration"] = 1000 * (LAST_FRAME_SECONDS if further is None else 1 / fps)
            yield image

    every = images()
    with atomic_file(path) as beside, beside.open("wb") as file:
        first = next(every)
        first.save(file, format="GIF", save_all=True, append_images=every, loop=0)


def _write_mp4(path: Path, frames: Iterator[Frame], fps: float) -> None:
    library = _ffmpeg()
    first = next(frames)
    height, width, _ = first.shape
    with atomic_file(path) as beside:
        # What ends the writing closes the encoder, whose process then ends.
        encoder = library.write_frames(
            str(beside), (width, height), fps=fps, macro_block_size=2,
            output_params=["-f", "mp4"], ffmpeg_log_level="error",
        )  # fmt: skip
        encoder.send(None)
        sent = 0
        try:
            last = first
            for last in chain([first], frames):
                encoder.send(np.ascontiguousarray(last))
                sent += 1
            for _ in range(round(LAST_FRAME_SECONDS * fps) - 1):
                encoder.send(np.ascontiguousarray(last))
                sent += 1
        finally:
            encoder.close()
        frame_count, _ = library.count_frames_and_secs(str(beside))
        if frame_count != sent:  # a full disk, for one: ffmpeg ends silently to us
            raise PolygymError(f"{path}: expected {sent} frames, found {frame_count}")


def _write_pictures(path: Path, frames: Iterator[Frame], fps: float) -> None:
    from PIL import Image

    beside = path.with_name(f".{path.name}.{os.getpid()}.new")
    shutil.rmtree(beside, ignore_errors=True)  # of a process that had this number
    beside.mkdir()
    try:
        for number, frame in enumerate(frames):
            Image.fromarray(frame).save(beside / f"frame-{number:04}.png")
        beside.rename(path)
        sync_folder(path.parent)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


_WRITERS: dict[str, Callable[[Path, Iterator[Frame], float], None]] = {
    ".gif": _write_gif,
    ".mp4": _write_mp4,
    "": _write_pictures,
}


def _ffmpeg() -> Any:
    """Return the library that brings ffmpeg, if it does."""
    try:
        import imageio_ffmpeg

        imageio_ffmpeg.get_ffmpeg_exe()
    except (ImportError, RuntimeError):
        raise InputError(
            "an MP4 needs imageio-ffmpeg: pip install 'polygym[agents]', or write a .gif"
        ) from None
    return imageio_ffmpeg
