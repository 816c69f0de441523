"""Time of a scan: a tree of varied C files, made from what the repository has, then scanned.

Of each ten files three are random programs in several functions with a main around them, two are
kernels, unseen programs or cases of the front end without their pragmas, three are modules of
ordinary C around a loop, and one has no loops; the last one is broken: no C, C++, a header that is
missing, bytes that are no text.

    python benchmarks/scan.py --files 1000 --keep tree
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from polygym.programs.generate import source_of_name

ROOT = Path(__file__).resolve().parent.parent
_PRAGMA = re.compile(r"(?m)^[ \t]*#[ \t]*pragma[ \t]+(?:end)?scop[ \t]*$")
_FOLDERS = ("polybench/kernels", "benchmarks/unseen_programs", "tests/frontend/c/cases")

_MODULE = """#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common_{group}.h"

typedef struct image {{ int width, height; unsigned char *pixels; }} image;

static int compare(const void *a, const void *b) {{
  return *(const int *)a - *(const int *)b;
}}

static char *read_line(FILE *file, char *line) {{
  int c, length = 0;
  while ((c = fgetc(file)) != EOF && c != '\\n' && length < LINE - 1)
    line[length++] = (char)c;
  line[length] = 0;
  return line;
}}

int {name}(image *picture, float *restrict out, const float *restrict weights, int n) {{
  char line[LINE];
  int i, j, kind = 0;
  float sum = 0;
  for (i = 0; i < n; i++)
    for (j = 0; j < n; j++)
      out[i * n + j] = weights[j] * {factor}.0f + out[i * n + j];
  for (i = 1; i < n - 1; i++)
    sum += out[i - 1] + out[i] + out[i + 1];
  switch (kind) {{
  case 0:
    for (i = 0; i < SIZE; i++) table[i] = table[i] * {factor};
    break;
  default:
    fprintf(stderr, "kind %d\\n", kind);
  }}
  qsort(table, SIZE, sizeof(table[0]), compare);
  while (read_line(stdin, line)[0] != 0)
    for (i = 0; i < SIZE; i++) table[i] += (int)strlen(line);
  printf("%d %g\\n", picture->width, sum);
  return i;
}}
"""
_HEADER = "#define LINE 256\n#define SIZE {size}\nstatic int table[SIZE];\n"
_BROKEN = (
    (".c", b"int f(void) { return 1 +; for (;;) ; }\n"),
    (".cpp", b"#include <vector>\nint f() { for (int x : std::vector<int>{1}) return x; }\n"),
    (".c", b'#include "nowhere.h"\nvoid f(int n) { for (int i = 0; i < n; i++) g(i); }\n'),
    (".c", b"\x00\xff\xfe for while \x80\x81\n"),
    (".c", b"#define F(x) for F(x\nF(\n"),
    (".c", b"void f(int n) { for (int i = 0; i < n; i++) {\n"),
)
_WITHOUT_LOOPS = "int add_{number}(int a, int b) {{ return a + b * {number}; }}\n"


def make_tree(folder: Path, count: int) -> None:
    """Write files into a folder."""
    stored = sorted(path for part in _FOLDERS for path in (ROOT / part).rglob("*.c"))
    for number in range(count):
        place = folder / f"part{number % 17}" / f"file{number}.c"
        place.parent.mkdir(parents=True, exist_ok=True)
        match number % 10:
            case 0 | 1 | 2:
                place.write_text(_random_module(number))
            case 3 | 4:
                text = stored[number % len(stored)].read_text()
                place.write_text(_PRAGMA.sub("", text))
            case 5 | 6 | 7:
                group = number % 7
                header = folder / "include" / f"common_{group}.h"
                header.parent.mkdir(exist_ok=True)
                header.write_text(_HEADER.format(size=100 + group))
                name = f"process_{number}"
                place.write_text(_MODULE.format(group=group, name=name, factor=number % 9 + 1))
            case 8:
                place.write_text(_WITHOUT_LOOPS.format(number=number))
            case _:
                ending, data = _BROKEN[number // 10 % len(_BROKEN)]
                place.with_suffix(ending).write_bytes(data)


def _random_module(number: int) -> str:
    """Return a file with three random programs, and a main around them."""
    names = (f"random:{number}", f"scalars:{number}", f"random:{number + 100_000}")
    parts = ["#include <math.h>\n#include <stdio.h>\n"]
    parts += [_PRAGMA.sub("", source_of_name(name)) for name in names]
    parts.append('int main(int argc, char **argv) { printf("%d\\n", argc); return 0; }\n')
    return "\n".join(parts)


def main() -> None:
    """Make the tree, scan it, print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", type=Path, default=None, help="keep the tree in this folder")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        make_tree(folder, options.files)
        command = [sys.executable, "-m", "polygym", "scan", str(folder), "--json"]
        begin = time.perf_counter()
        done = subprocess.run(
            [*command, "--jobs", str(options.jobs)], capture_output=True, text=True, check=False
        )
        seconds = time.perf_counter() - begin
    found = json.loads(done.stdout)
    statuses = [file["status"] for file in found["files"]]
    figures = {
        "files": len(statuses),
        **{status: statuses.count(status) for status in ("read", "no loops", "refused")},
        "without_reason": sum(f["status"] == "refused" and not f["reason"] for f in found["files"]),
        "regions": len(found["regions"]),
        "refused_loops": len(found["refused_loops"]),
        "seconds": round(seconds, 1),
        "exit_code": done.returncode,
        "traceback": "Traceback" in done.stderr,
    }
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
