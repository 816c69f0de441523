"""The user's compilers: ``$CC``, or ``cc``, ``gcc`` or ``clang`` on the PATH; ``$CXX`` for C++."""

import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from polygym.errors import InputError

_SECONDS = 600.0
_NAMES = ("cc", "gcc", "clang")
_CPP_NAMES = ("c++", "g++", "clang++")
_CLANG_NAMES = ("clang", *(f"clang-{version}" for version in range(30, 13, -1)))
_SHOWN_LINES = 12


@dataclass(frozen=True, slots=True)
class UserCompiler:
    """A compiler as it is called: the words of ``$CC``, and the flags of ``$CFLAGS``."""

    command: tuple[str, ...]
    flags: tuple[str, ...]

    @property
    def name(self) -> str:
        """The words in one line."""
        return shlex.join(self.command)

    @property
    def version(self) -> str:
        """The first line of what ``--version`` prints."""
        try:
            done = subprocess.run(
                [*self.command, "--version"], capture_output=True, text=True, timeout=60
            )
        except (OSError, subprocess.TimeoutExpired):
            return self.name
        return next(iter(done.stdout.splitlines()), self.name)

    @property
    def is_clang(self) -> bool:
        """Whether it is clang, by its version."""
        return "clang" in self.version

    def compile(self, source: Path, result: Path, *flags: str) -> None:
        """Compile one C file into an object.

        Raises:
            InputError: the compiler refuses it; the message has what it says.
        """
        self._run([*self.flags, *flags, "-c", str(source), "-o", str(result)], source.name)

    def join(self, objects: Sequence[Path], result: Path) -> None:
        """Link objects into one relocatable object."""
        self._run(["-r", "-nostdlib", *map(str, objects), "-o", str(result)], result.name)

    def link_shared(self, objects: Sequence[Path], result: Path, *libraries: str) -> None:
        """Link objects into a shared library."""
        inputs = [*map(str, objects), *libraries]
        self._run(["-shared", *inputs, "-o", str(result)], result.name)

    def _run(self, arguments: list[str], what: str) -> None:
        try:
            done = subprocess.run(
                [*self.command, *arguments], capture_output=True, text=True, timeout=_SECONDS
            )
        except subprocess.TimeoutExpired:
            raise InputError(f"{self.name}: {what} took more than {_SECONDS:g} s") from None
        except OSError as error:
            raise InputError(f"{self.name}: cannot be run: {error.strerror}") from None
        if done.returncode:
            lines = (done.stderr or done.stdout).strip().splitlines()[:_SHOWN_LINES]
            said = "\n  ".join(lines) or "no message"
            raise InputError(f"{self.name} refuses {what}:\n  {said}")


def user_compiler() -> UserCompiler | None:
    """Return the user's C compiler with ``$CFLAGS``, None where there is none.

    Raises:
        InputError: ``$CC`` names one that does not exist.
    """
    return _compiler_of("C", "CC", "CFLAGS", _NAMES)


def user_cpp_compiler() -> UserCompiler | None:
    """Return the user's C++ compiler with ``$CXXFLAGS``, None where there is none.

    Raises:
        InputError: ``$CXX`` names one that does not exist.
    """
    return _compiler_of("C++", "CXX", "CXXFLAGS", _CPP_NAMES)


def _compiler_of(
    language: str, variable: str, flags_variable: str, names: Sequence[str]
) -> UserCompiler | None:
    """Return the compiler that a variable names, else the first of some names on the PATH."""
    flags = tuple(shlex.split(os.environ.get(flags_variable, "")))
    given = shlex.split(os.environ.get(variable, ""))
    if given:
        if shutil.which(given[0]) is None:
            raise InputError(
                f"{variable}: expected the name of a {language} compiler, found {given[0]!r}"
            )
        return UserCompiler(tuple(given), flags)
    path = next((name for name in names if shutil.which(name)), None)
    return None if path is None else UserCompiler((path,), flags)


def user_clang() -> UserCompiler | None:
    """Return the user's clang: ``$CC`` with ``$CFLAGS`` if it is one, else the newest on the PATH.

    None where there is none.
    """
    given = user_compiler()
    if given is not None and given.is_clang:
        return given
    path = next((name for name in _CLANG_NAMES if shutil.which(name)), None)
    return None if path is None else UserCompiler((path,), ())


def weaken_all_but(name: str, result: Path) -> None:
    """Let every symbol of an object give way to another of its name, but for one function.

    So an object whose function has a new name can stand beside the object of the same file.

    Raises:
        InputError: there is no objcopy.
    """
    _objcopy(result, "--wildcard", f"--weaken-symbol=!{name}", "--weaken-symbol=*")


def redefine_symbols(result: Path, names: Mapping[str, str]) -> None:
    """Give symbols of an object other names.

    Raises:
        InputError: there is no objcopy.
    """
    _objcopy(result, *(f"--redefine-sym={old}={new}" for old, new in names.items()))


def hide_all_but(result: Path, names: Sequence[str]) -> None:
    """Let an object show no other functions of its own than these.

    Raises:
        InputError: there is no objcopy.
    """
    _objcopy(result, *(f"--keep-global-symbol={name}" for name in names))


def _objcopy(result: Path, *flags: str) -> None:
    if shutil.which("objcopy") is None:
        raise InputError("expected objcopy, found none; on Debian: apt-get install binutils")
    command = ["objcopy", *flags, str(result)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    if done.returncode:
        raise InputError(f"objcopy refuses {result.name}: {done.stderr.strip()}")


def archive(objects: Sequence[Path], result: Path) -> None:
    """Put objects into a static library.

    Raises:
        InputError: there is no ar.
    """
    if shutil.which("ar") is None:
        raise InputError("--kind static: expected ar, found none; apt-get install binutils")
    result.unlink(missing_ok=True)
    done = subprocess.run(
        ["ar", "rcs", str(result), *map(str, objects)], capture_output=True, text=True, timeout=60
    )
    if done.returncode:
        raise InputError(f"ar refuses {result.name}: {done.stderr.strip()}")
