"""Names of programs: nothing outside of the root is read, by whatever path or include."""

import os
from pathlib import Path

import pytest

from polygym.errors import InputError
from polygym.frontend.c.source.readable_files import files_below, may_read
from polygym.text_interface.server.limits import ServerLimits
from polygym.text_interface.server.program_files import program_target, region_name
from polygym.text_interface.server.service import ToolService
from tests.text_interface.sessions import STENCIL


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    (folder / "inside").mkdir(parents=True)
    (folder / "heat.c").write_text(STENCIL)
    (folder / "inside" / "heat.c").write_text(STENCIL)
    (tmp_path / "outside.c").write_text(STENCIL)
    (tmp_path / "secret.h").write_text("#define SECRET 42\n")
    (tmp_path / "root2").mkdir()
    (tmp_path / "root2" / "near.c").write_text(STENCIL)
    (folder / "link.c").symlink_to(tmp_path / "outside.c")
    (folder / "away").symlink_to(tmp_path)
    (folder / "inner.c").symlink_to(folder / "heat.c")
    (folder / "folder.c").mkdir()
    (folder / "passwd.txt").write_text("x")
    os.mkfifo(folder / "pipe.c")
    return folder


def test_files_below_the_root_are_found(root: Path) -> None:
    limits = ServerLimits(root=root)
    for name in ("heat.c", "inside/heat.c", "inside/../heat.c", str(root / "heat.c"), "./heat.c"):
        assert program_target(name, limits) == str(root / os.path.normpath(root / name))
    assert program_target("inner.c", limits) == str(root / "heat.c")
    for name in ("gemm", "tc:matmul", "random:17"):
        assert program_target(name, limits) == name
        assert program_target(name, ServerLimits()) == name


OUTSIDE = (
    "../outside.c", "inside/../../outside.c", "/etc/passwd", "../root2/near.c", "link.c",
    "away/outside.c", "away/root2/near.c", "folder.c", "passwd.txt", "pipe.c", "missing.c", "",
    ".", "..", "~/x.c", "heat.c\0", "heat.c\0.c", "//heat.c", "x" * 2000, "tc:../x.c",
    "/proc/self/cwd/heat.c", "file:heat.c", "heat.c:1", "-I/etc heat.c", "/dev/stdin", "%2e%2e/a.c",
)  # fmt: skip


@pytest.mark.parametrize("name", OUTSIDE)
def test_other_paths_are_refused_with_one_sentence(root: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"^program: expected") as caught:
        program_target(name, ServerLimits(root=root))
    assert len(str(caught.value)) < 500
    assert "outside" not in str(caught.value).replace(name[:120], "")


def test_without_a_root_there_are_no_files(root: Path) -> None:
    for name in ("heat.c", str(root / "heat.c"), "/etc/passwd"):
        with pytest.raises(InputError, match="--root DIR"):
            program_target(name, ServerLimits())


def test_large_files_are_refused(root: Path) -> None:
    with pytest.raises(InputError, match="at most 10 bytes"):
        program_target("heat.c", ServerLimits(root=root, file_bytes=10))


def test_a_region_is_a_name() -> None:
    assert region_name("main:2") == "main:2"
    assert region_name(None) is None
    for text in ("f -I/etc", "f +/usr/lib/libm.so", "f @1:1-2:2", "A[100]", "", "f;g", "f" * 200):
        with pytest.raises(InputError, match="function: expected a name"):
            region_name(text)


INCLUDES = (
    '#include "../secret.h"',
    '#include "away/secret.h"',
    '#include "/etc/passwd"',
    '#define NAME "../secret.h"\n#include NAME',
    '#if __has_include("../secret.h")\n#error found\n#endif\n#include "../secret.h"',
)


@pytest.mark.parametrize("include", INCLUDES)
def test_included_files_stay_below_the_root(root: Path, include: str) -> None:
    (root / "reads.c").write_text(f"{include}\n{STENCIL}")
    with ToolService(ServerLimits(root=root)) as service:
        result = service.call("load", {"program": "reads.c", "dataset": "mini"})
        assert not result.is_ok
        assert "is not in" in result.text
        assert "root:" not in result.text
        assert "SECRET" not in result.text
        (root / "own.h").write_text("#define N 4\n")
        (root / "reads.c").write_text(f'#include <stdio.h>\n#include "own.h"\n{STENCIL}')
        assert service.call("load", {"program": "reads.c", "dataset": "mini"}).is_ok


def test_what_was_read_before_is_not_read_for_a_client(root: Path) -> None:
    """The parser remembers files; a text of elsewhere must not come from that memory."""
    from polygym.programs import load_scop

    (root / "reads.c").write_text(f'#include "../secret.h"\n{STENCIL}')
    load_scop(str(root / "reads.c"))
    with ToolService(ServerLimits(root=root)) as service:
        assert not service.call("load", {"program": "reads.c", "dataset": "mini"}).is_ok


def test_the_question_about_a_path(root: Path) -> None:
    assert may_read("/etc/passwd")
    with files_below(root):
        assert may_read(root / "heat.c")
        assert not may_read(root / "link.c")
        assert not may_read("/etc/passwd")
        assert not may_read("a\0b")
        assert not may_read(f"{root}2/near.c")
    assert may_read("/etc/passwd")
