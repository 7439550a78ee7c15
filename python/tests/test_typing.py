# SPDX-License-Identifier: MIT
"""Types and signatures: for mypy, pyright, editors and help()."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import pathlib
import re
import subprocess
import sys

import pytest

import clpool

HERE = pathlib.Path(__file__).parent
PACKAGE = pathlib.Path(clpool.__file__).parent
PROGRAM, WRONG = HERE / "typed_program.py", HERE / "wrong_program.py"

# Classes of PyOpenCL's have metaclasses of its own, and that of a Memory is a makeshift.
NOT_IN_STUBS = """
clpool._clpool.PooledBuffer
clpool._clpool.PooledSVM
clpool._clpool.Memory
clpool._clpool.Memory.*
"""


def run(*words, **more):
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        **more,
    )
    return ended.returncode, ended.stdout + ended.stderr


@pytest.fixture(scope="session")
def mypy(tmp_path_factory):
    # Its types came with PyOpenCL 2025.1.
    if importlib.util.find_spec("mypy") is None or not has_types("pyopencl"):
        pytest.skip("mypy, or a typed pyopencl, is missing")
    return ["mypy", "--strict", f"--cache-dir={tmp_path_factory.mktemp('mypy')}"]


def has_types(package):
    found = importlib.util.find_spec(package)
    return found is not None and pathlib.Path(found.origin).with_name("py.typed").exists()


def test_the_program_uses_every_name():
    used = {
        node.attr
        for node in ast.walk(ast.parse(PROGRAM.read_text()))
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "clpool"
    }
    assert used >= set(clpool.__all__)


@pytest.mark.parametrize("what", [[PROGRAM], ["-p", "clpool"]], ids=["program", "package"])
def test_mypy(mypy, what, tmp_path):
    code, said = run(*mypy, *what, cwd=tmp_path)
    assert code == 0, said


@pytest.mark.parametrize("what", [PROGRAM, PACKAGE], ids=["program", "package"])
def test_pyright(what, tmp_path):
    if importlib.util.find_spec("pyright") is None or not has_types("pyopencl"):
        pytest.skip("pyright, or a typed pyopencl, is missing")
    code, said = run("pyright", "--pythonpath", sys.executable, what, cwd=tmp_path)
    assert code == 0, said


def test_mypy_refuses_what_is_wrong(mypy, tmp_path):
    _, said = run(*mypy, WRONG, cwd=tmp_path)
    found = re.findall(r"wrong_program\.py:(\d+): error: .*\[([\w-]+)\]$", said, re.M)
    wanted = re.findall(r"^.*  # ([\w-]+)$", WRONG.read_text(), re.M)
    lines = [i for i, line in enumerate(WRONG.read_text().splitlines(), 1) if "  # " in line]
    assert sorted({(int(line), kind) for line, kind in found}) == list(zip(lines, wanted)), said


def test_stubs_are_true(mypy, tmp_path):
    allowed = tmp_path / "allowed"
    allowed.write_text(NOT_IN_STUBS)
    code, said = run(
        *("mypy.stubtest", "--ignore-disjoint-bases", "--ignore-unused-allowlist"),
        *("--allowlist", allowed, "clpool._clpool"),
        cwd=tmp_path,
    )
    assert code == 0, said


# --- Signatures -----------------------------------------------------------------------------------


def public():
    """Each class, function and method that has documentation to be shown, by name."""
    for name in clpool.__all__:
        thing = getattr(clpool, name)
        if not callable(thing):
            continue
        yield name, thing
        if isinstance(thing, type) and not issubclass(thing, BaseException):
            for attribute, method in vars(thing).items():
                if not attribute.startswith("_") and callable(method):
                    yield f"{name}.{attribute}", method


def stub_functions():
    for node in ast.parse((PACKAGE / "_clpool.pyi").read_text()).body:
        if isinstance(node, ast.FunctionDef):
            yield node.name, node
        for inner in node.body if isinstance(node, ast.ClassDef) else ():
            if isinstance(inner, ast.FunctionDef) and not inner.decorator_list:
                in_new = inner.name in ("__init__", "__new__")
                yield node.name if in_new else f"{node.name}.{inner.name}", inner


def test_signatures():
    known = dict(reversed(list(stub_functions())))  # __init__ comes before __new__
    compared = 0
    for name, thing in public():
        signature = inspect.signature(thing)
        assert inspect.getdoc(thing), name
        stub = known.get(name.replace("MemoryPool.", "_Pool.").replace("PoolOnQueue.", "_Pool."))
        if stub is None or inspect.isfunction(thing) or name in ("PooledBuffer", "PooledSVM"):
            continue
        arguments = stub.args
        names = [one.arg for one in arguments.posonlyargs + arguments.args + arguments.kwonlyargs]
        shown = [one for one in signature.parameters if one not in ("self", "cls")]
        assert shown == [one for one in names if one not in ("self", "cls")], name
        compared += 1
    assert compared > 30


@pytest.mark.parametrize(
    "make", [clpool.HostAllocator, clpool.SimulatedAllocator, clpool.MemoryPool], ids=str
)
def test_defaults_that_are_shown_are_true(make):
    shown = {
        name: one.default
        for name, one in inspect.signature(make).parameters.items()
        if one.default is not inspect.Parameter.empty
    }
    needed = [clpool.HostAllocator()] if make is clpool.MemoryPool else []
    plain, told = make(*needed), make(*needed, **shown)
    assert repr(told) == repr(plain)
    if make is clpool.MemoryPool:
        assert (told.limit, told.allocator.name, told.bin_number(5000)) == (
            plain.limit, plain.allocator.name, plain.bin_number(5000)
        )  # fmt: skip
