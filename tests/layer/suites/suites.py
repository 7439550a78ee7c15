# SPDX-License-Identifier: MIT
"""The suites: what is installed of each, and what of its output must be the same. A selection that
takes some minutes, or the whole."""

from __future__ import annotations

import ast
import gzip
import html
import os
import pathlib
import re
import shutil
import subprocess
import xml.etree.ElementTree
from collections.abc import Callable

from program import Missing, Program

HERE = pathlib.Path(__file__).resolve().parent
SOURCES = HERE.parents[2]
POCL = "Portable Computing Language"
PLATFORM = os.environ.get("CLPT_PLATFORM", POCL)
DEBIAN_PYTHON = "/usr/bin/python3"
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def package(name: str) -> Missing:
    return Missing(f"not installed (apt-get install {name})")


# --- CLBlast: a line of signs for each routine ----------------------------------------------------

CLBLAST_SHORT = "xamax xaxpy xdot xgemv xger xnrm2 xomatcopy".split()


def clblast_results(printed: str, _: pathlib.Path) -> list[str]:
    return COLOURS.sub("", printed).splitlines()


def platform_number(build: pathlib.Path) -> str:
    """As CLBlast's tests take it."""
    told = subprocess.run(
        [build / "tools/clpool", "info"], capture_output=True, text=True, check=False
    )
    platforms = re.findall(r"^platform (\d+): (.*)$", told.stdout, re.M)
    return next((number for number, name in platforms if name == PLATFORM), "0")


def clblast(build: pathlib.Path, is_whole: bool) -> list[Program]:
    found = sorted(pathlib.Path("/usr/bin").glob("clblast_test_*"))
    if not found:
        raise package("clblast-tests")
    number = platform_number(build)
    return [
        Program(it.name, [str(it), "-platform", number, "-device", "0"], clblast_results)
        for it in found
        if is_whole or it.name.removeprefix("clblast_test_") in CLBLAST_SHORT
    ]


# --- piglit: the programs that need no file, or all -----------------------------------------------


def piglit_results(printed: str, _: pathlib.Path) -> list[str]:
    return [line for line in printed.splitlines() if line.startswith("PIGLIT:")]


def piglit(_: pathlib.Path, is_whole: bool) -> list[Program]:
    folders = list(pathlib.Path("/usr/lib").glob("*/piglit"))
    if not folders:
        raise package("piglit")
    (folder,) = folders
    with gzip.open(folder / "tests/cl.xml.gz") as lists:
        tests = xml.etree.ElementTree.parse(lists)
    found = []
    for test in tests.iter("Test"):
        options = {o.get("name"): ast.literal_eval(o.get("value", "")) for o in test}
        name = test.get("name", "").replace("@", "/")
        if "command" in options:
            command = options["command"]
        elif is_whole:
            command = ["cl-program-tester", options["filename"]]
        else:
            continue
        command = [str(folder / "bin" / command[0]), *command[1:]]
        found.append(Program(name, command, piglit_results, directory=folder))
    return found


# --- hashcat: words of four letters by their hashes -----------------------------------------------

HASHES = {
    "md5": ("0", "098f6bcd4621d373cade4e832627b4f6"),
    "sha1": ("100", "a94a8fe5ccb19ba61c4c0873d391e987982fbbd3"),
    "sha256": ("1400", "98c1eb4ee93476743763878fcb96a25fbc9a175074d64004779ecb5242f645e6"),
    "ntlm": ("1000", "0cb6948805f797bf2a82807973b89537"),
}


def hashcat_results(_: str, folder: pathlib.Path) -> list[str]:
    found = folder / "found"
    return sorted(found.read_text().splitlines()) if found.exists() else ["nothing was written"]


def hashcat(build: pathlib.Path, is_whole: bool) -> list[Program]:
    path = shutil.which("hashcat")
    if not path:
        raise package("hashcat")
    home = build / "layer-suites/hashcat"  # it keeps what it compiles
    home.mkdir(parents=True, exist_ok=True)
    return [
        Program(
            f"hashcat {name}",
            [path, "--force", "--quiet", "--potfile-disable", "--restore-disable",
             "--logfile-disable", "-D", "1,2", "-m", mode, "-a", "3", "-o", "FOLDER/found",
             hashed, "?l?l?l?l"],
            hashcat_results,
            {"HOME": str(home), "XDG_CACHE_HOME": str(home), "XDG_DATA_HOME": str(home)},
        )
        for name, (mode, hashed) in HASHES.items()
        if is_whole or name in ("md5", "sha256")
    ]  # fmt: skip


# --- ViennaCL: its documentation has the sources of its examples and tests ------------------------

VIENNACL_SHORT = ["custom-kernels", "matrix-range", "vector-range"]
VIENNACL_WHOLE = VIENNACL_SHORT + """
    blas1 blas2 blas3 bandwidth-reduction custom-context fft iterative lanczos least-squares
    power-iter qr_method scheduler sparse structured-matrices svd bisect scalar matrix_vector scan
    scheduler_vector self_assign tql vector_multi_inner_prod""".split()
TIMES = re.compile(r"time|sec|GFLOP|GB/s", re.I)


def viennacl_results(printed: str, _: pathlib.Path) -> list[str]:
    return [line for line in printed.splitlines() if not TIMES.search(line)]


def source_of(page: pathlib.Path) -> str:
    """The text of a page of Doxygen's that shows a source."""
    lines = re.findall(r'<div class="line"><a name="l\d+">.*?</div>', page.read_text(), re.S)
    plain = (re.sub(r"<[^>]*>", "", line) for line in lines)
    return "\n".join(
        re.sub(r"^\s*\d+\xa0", "", html.unescape(line)).replace("\xa0", " ") for line in plain
    )


def viennacl(build: pathlib.Path, is_whole: bool) -> list[Program]:
    if not pathlib.Path("/usr/include/viennacl").exists():
        raise package("libviennacl-dev libviennacl-doc libboost-dev")
    pages = pathlib.Path("/usr/share/doc/libviennacl-dev/html")
    if not pages.exists():
        raise package("libviennacl-doc")
    folder = build / "layer-suites/viennacl"
    folder.mkdir(parents=True, exist_ok=True)
    found = []
    for name in VIENNACL_WHOLE if is_whole else VIENNACL_SHORT:
        mangled = name.replace("_", "__")
        choices = [f"examples_2tutorial_2{mangled}", f"tutorial_2{mangled}", mangled]
        page = next(p for c in choices if (p := pages / f"{c}_8cpp_source.html").exists())
        source = folder / f"{name}.cpp"
        program = folder / name
        if not program.exists():
            source.write_text(source_of(page) + "\n")
            compiled = subprocess.run(
                [os.environ.get("CXX", "c++"), "-w", "-O1", "-DVIENNACL_WITH_OPENCL",
                 "-DCL_TARGET_OPENCL_VERSION=120", "-o", program, source, "-lOpenCL"],
                capture_output=True, check=False,
            )  # fmt: skip
            if compiled.returncode:
                print(f"  viennacl {name}: does not compile here: left out")
                continue
        found.append(Program(f"viennacl {name}", [str(program)], viennacl_results))
    return found


# --- PyOpenCL's own tests -------------------------------------------------------------------------

PYOPENCL_SHORT = ["test_enqueue_copy", "test_wrapper"]


def pytest_results(_: str, folder: pathlib.Path) -> list[str]:
    """Each test's outcome; on a crash there is no report."""
    report = folder / "report.xml"
    if not report.exists():
        return ["no report"]
    cases = xml.etree.ElementTree.parse(report).iter("testcase")
    return sorted(
        f"{case.get('classname')}::{case.get('name')} {','.join(c.tag for c in case)}"
        for case in cases
    )


def python_programs(python: pathlib.Path, folder: pathlib.Path, is_whole: bool) -> list[Program]:
    version = subprocess.run(
        [python, "-c", "import pyopencl; print(pyopencl.VERSION_TEXT)"],
        capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip
    sources = folder / f"pyopencl-{version}"
    if not sources.exists():
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            [python, SOURCES / "python/tests/check_pyopencl.py", f"--download={folder}"], check=True
        )
    return [
        Program(
            f"PyOpenCL {version} {file.stem}",
            [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider",
             "--junit-xml=FOLDER/report.xml", file.name],
            pytest_results,
            directory=file.parent,
        )
        for file in sorted((sources / "test").glob("test_*.py"))
        if is_whole or file.stem in PYOPENCL_SHORT
    ]  # fmt: skip


def pyopencl(build: pathlib.Path, is_whole: bool) -> list[Program]:
    python = build / "python-venv/bin/python"
    if not python.exists():
        raise Missing("no virtual environment (make check-python makes one)")
    return python_programs(python, build / "layer-suites/pyopencl", is_whole)


def has_modules(python: str, *names: str) -> bool:
    command = [python, "-c", f"import {', '.join(names)}"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def debian_pyopencl(build: pathlib.Path, is_whole: bool) -> list[Program]:
    """Debian's PyOpenCL, and from the registry of Python's packages what its tests need."""
    if not has_modules(DEBIAN_PYTHON, "pyopencl"):
        raise package("python3-pyopencl")
    folder = build / "layer-suites/debian-pyopencl"
    python = folder / "venv/bin/python"
    if not python.exists():
        for command in (
            [DEBIAN_PYTHON, "-m", "venv", "--system-site-packages", folder / "venv"],
            [python, "-m", "pip", "install", "-q", "pytest", "pybind11", "wheel", "setuptools<70"],
        ):
            subprocess.run(command, check=True)
    return python_programs(python, folder, is_whole)


# --- OpenCV, and clpool's own ---------------------------------------------------------------------


def opencv(_: pathlib.Path, is_whole: bool) -> list[Program]:
    if not has_modules(DEBIAN_PYTHON, "cv2"):
        raise package("python3-opencv")
    rounds = "200" if is_whole else "30"
    return [
        Program(
            "OpenCV UMat", [DEBIAN_PYTHON, str(HERE / "opencv_umat.py"), rounds],
            environment={"OPENCV_OPENCL_DEVICE": ":CPU:" if PLATFORM == POCL else ":GPU:"},
        )
    ]  # fmt: skip


OWN_LONG = {"test_cl_order_stress", "test_pools"}


def own_results(printed: str, _: pathlib.Path) -> list[str]:
    return [line for line in printed.splitlines() if re.search(r"^\d+%: Checks|:[FE]:", line)]


def own(build: pathlib.Path, is_whole: bool) -> list[Program]:
    found = [
        it for it in sorted((build / "tests/opencl").glob("test_*"))
        if not it.suffix and os.access(it, os.X_OK)
    ]  # fmt: skip
    if not found:
        raise Missing("not built (make check TESTS=)")
    return [
        Program(f"clpool {it.name}", [str(it)], own_results, {"top_srcdir": str(SOURCES)})
        for it in found
        if is_whole or it.name not in OWN_LONG
    ]


SUITES: dict[str, Callable[[pathlib.Path, bool], list[Program]]] = {
    "clpool": own,
    "clblast": clblast,
    "piglit": piglit,
    "hashcat": hashcat,
    "viennacl": viennacl,
    "opencv": opencv,
    "pyopencl": pyopencl,
    "debian-pyopencl": debian_pyopencl,
}
