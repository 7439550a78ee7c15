# SPDX-License-Identifier: MIT
"""Runs PyOpenCL's own tests, from the source archive of the installed version, with their arrays on
no pool, on PyOpenCL's pool, and on clpool's; prints a table, and fails where a test fails with
clpool that passes without any.

    python check_pyopencl.py [--sources=FOLDER] [--only=EXPRESSION] [KIND...]
    python check_pyopencl.py --download=FOLDER

Without --sources, a folder that has PyOpenCL's folder `test`, pip downloads the archive; with
--download, that is all, and it stays.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import xml.etree.ElementTree

import pyopencl

HERE = pathlib.Path(__file__).resolve().parent
KINDS = ["none", "pyopencl", "clpool", "clpool-arena"]


def pip(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "pip", *arguments, "--quiet"], check=True)


def download(folder: pathlib.Path) -> pathlib.Path:
    # What pip asks about an archive's dependencies, though it needs none here.
    pip("install", "scikit-build-core", "nanobind")
    pip("download", "--no-deps", "--no-build-isolation", "--no-binary=:all:",
        f"--dest={folder}", f"pyopencl=={pyopencl.VERSION_TEXT}")  # fmt: skip
    (archive,) = folder.glob("pyopencl-*.tar.gz")
    with tarfile.open(archive) as opened:
        opened.extractall(folder)
    return folder / archive.name[: -len(".tar.gz")]


def outcomes(report: pathlib.Path) -> dict[str, str]:
    """Each test's outcome, from pytest's report in JUnit's XML."""
    found = {}
    for case in xml.etree.ElementTree.parse(report).iter("testcase"):
        name = f"{case.get('classname')}::{case.get('name')}"
        kinds = {child.tag for child in case}
        found[name] = next((k for k in ("failure", "error", "skipped") if k in kinds), "passed")
    return found


def run(sources: pathlib.Path, kind: str, only: str | None, folder: pathlib.Path) -> dict[str, str]:
    """The outcomes of all files, each of them a process of its own."""
    found: dict[str, str] = {}
    for file in sorted((sources / "test").glob("test_*.py")):
        report = folder / f"{kind}-{file.stem}.xml"
        subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "--tb=short",
             "-p", "default_allocator", "-p", "no:cacheprovider", f"--junit-xml={report}",
             "-k", only or "", file.name],
            cwd=file.parent,
            env={
                **os.environ,
                "CLPOOL_TEST_ALLOCATOR": kind,
                "PYTHONPATH": str(HERE),
            },
            stdout=(folder / f"{kind}-{file.stem}.log").open("w"),
            stderr=subprocess.STDOUT,
            check=False,
        )  # fmt: skip
        if report.exists():
            found.update(outcomes(report))
        else:
            found[f"{file.stem}::(the whole file)"] = "error"
    return found


def print_table(found: dict[str, dict[str, str]]) -> None:
    print(f"{'':20}" + "".join(f"{kind:>16}" for kind in found))
    files = sorted({name.split("::")[0] for results in found.values() for name in results})
    for file in files:
        row = f"{file:20}"
        for results in found.values():
            mine = [r for name, r in results.items() if name.split("::")[0] == file]
            failed = sum(r in ("failure", "error") for r in mine)
            row += f"{mine.count('passed'):>9} + {failed:<4}"
        print(row)
    print("(passed + failed)")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--sources", type=pathlib.Path)
    parser.add_argument("--download", type=pathlib.Path)
    parser.add_argument("--only", help="pytest's -k")
    parser.add_argument("--keep", type=pathlib.Path, help="a folder for logs and reports")
    parser.add_argument("kinds", nargs="*", default=KINDS)
    arguments = parser.parse_args()
    if arguments.download:
        download(arguments.download)
        return 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.keep or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        sources = arguments.sources or download(pathlib.Path(temporary))
        found = {k: run(sources, k, arguments.only, folder) for k in arguments.kinds}
    print_table(found)
    bad = 0
    plain = found.get("none", {})
    for kind, results in found.items():
        for name, result in sorted(results.items()):
            if result in ("failure", "error") and plain.get(name) not in ("failure", "error"):
                print(f"{kind}: {name}: {result}, and passes without a pool")
                bad += kind.startswith("clpool")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
