"""C programs that use exported models: built by the compilers of the machine, run as processes."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from polygym.export.c_compiler import user_compiler
from polygym.graphs.execution import compile_model
from polygym.graphs.export.writing import (
    LibraryKind,
    LibraryOptions,
    WrittenLibrary,
    write_library,
)
from polygym.graphs.ir.build import concat, graph_input, make_node, matmul, relu, weight
from polygym.graphs.ir.graph import Graph, Model, random_inputs, random_weights

STRICT = ("-Wall", "-Wextra", "-Werror", "-pedantic")


def small_model(name: str = "small", seed: int = 0) -> Model:
    """Return a model with a gather, a strided copy, two inputs of two types, and two results."""
    x = graph_input("x", 3, 8)
    rows = make_node("gather", 0, weight("table", 5, 8), graph_input("row/ids", 3, dtype="int64"))
    total = relu(make_node("ewadd", matmul(x, weight("w", 8, 8)), rows))
    graph = Graph.of(name, concat(1, [total, x]), mean=make_node("reduce-mean", 0, 0, total))
    return Model(graph, random_weights(graph, seed))


def written(model: Model, out: Path, name: str, kind: str = "shared", **options) -> WrittenLibrary:
    """Export a model."""
    return write_library(
        model, out, LibraryOptions(name, LibraryKind(kind), **options), user_compiler()
    )


def arguments(model: Model, folder: Path) -> list[np.ndarray]:
    """Write inputs for a driver, and return what the model must give."""
    arrays = random_inputs(model.graph, 1)
    for number, array in enumerate(arrays):
        (folder / f"in{number}").write_bytes(array.tobytes())
    return compile_model(model)(*arrays)


def build(folder: Path, text: str, *others: str, compiler: Sequence[str] = ("cc",)) -> Path:
    """Compile a program, warnings being errors."""
    suffix = ".cpp" if "++" in compiler[0] else ".c"
    source, program = folder / f"main{suffix}", folder / "main"
    source.write_text(text)
    done = subprocess.run(
        [*compiler, *STRICT, "-O1", f"-I{folder}", str(source), *others, "-lm", "-o", str(program)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return program


def run(program: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a program in its folder."""
    return subprocess.run(
        [str(program), *words], capture_output=True, text=True, cwd=program.parent, timeout=60
    )


MAIN = """
#include <stdio.h>
#include <stdlib.h>
#include "small.h"

static void load(const char *path, void *memory, size_t bytes)
{
  FILE *file = fopen(path, "rb");
  if (file == NULL || fread(memory, 1, bytes, file) != bytes)
    exit(99);
  fclose(file);
}

int main(int count, char **words)
{
  float x[3 * 8], y[3 * 16], mean[8];
  int64_t ids[3];
  load("in0", x, sizeof x);
  load("in1", ids, sizeof ids);
  if (count > 2)
    ids[1] = atoi(words[2]);
  small *model;
  int code = small_create(words[1], &model);
  if (code == SMALL_OK)
    code = small_run(model, x, ids, y, mean);
  small_destroy(model);
  puts(small_message(code));
  for (int k = 0; k < 48 && code == 0; k++)
    printf("%.9g ", (double)y[k]);
  for (int k = 0; k < 8 && code == 0; k++)
    printf("%.9g ", (double)mean[k]);
  return code;
}
"""
