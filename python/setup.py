# SPDX-License-Identifier: MIT
"""Builds the extension with libclpool's sources in it, or against an installed libclpool if
pkg-config knows one of this version or newer (PKG_CONFIG=false: never)."""

from __future__ import annotations

import os
import pathlib
import shlex
import shutil
import subprocess

import setuptools
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.sdist import sdist

HERE = pathlib.Path(__file__).resolve().parent
# A source distribution holds the library's sources; in the repository they are beside this folder.
TREE = HERE if (HERE / "lib").is_dir() else HERE.parent
LIBRARY = ["lib/**/*.[ch]", "include/clpool/*.h", "include/clpool/*.hpp", "include/clpool/*.in"]
NEEDS = (
    "Building clpool needs a C and C++ compiler, Python's headers and OpenCL's headers"
    " (Debian: build-essential python3-dev opencl-headers)"
)


def installed_flags(version: str) -> tuple[list[str], list[str]] | None:
    """The compiler's and the linker's flags of an installed libclpool; None if there is none."""
    command = [os.environ.get("PKG_CONFIG", "pkg-config"), f"clpool >= {version}"]
    try:
        compiler, linker = (
            subprocess.run([*command, what], check=True, capture_output=True, text=True).stdout
            for what in ("--cflags", "--libs")
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return shlex.split(compiler), shlex.split(linker)


def write_version(folder: pathlib.Path, version: str) -> None:
    """Writes the one header that configure would make."""
    text = (TREE / "include/clpool/version.h.in").read_text()
    text = text.replace("@PACKAGE_VERSION@", version)
    for name, number in zip(("MAJOR", "MINOR", "PATCH"), version.split(".")):
        text = text.replace(f"@CLP_VERSION_{name}@", number)
    (folder / "clpool").mkdir(parents=True, exist_ok=True)
    (folder / "clpool/version.h").write_text(text)


class BuildExtension(build_ext):
    def build_extension(self, extension: Extension) -> None:
        version = self.distribution.get_version()
        extension.define_macros.append(("CLPOOL_PACKAGE_VERSION", f'"{version}"'))
        flags = installed_flags(version)
        if flags:
            extension.extra_compile_args += flags[0]
            extension.extra_link_args += flags[1]
        else:
            self.add_library(extension, version)
        try:
            super().build_extension(extension)
        except Exception as error:
            raise SystemExit(f"{error}\n{NEEDS}") from error

    def add_library(self, extension: Extension, version: str) -> None:
        """Compiles libclpool's sources into the extension."""
        generated = pathlib.Path(self.build_temp).resolve() / "include"
        write_version(generated, version)
        extension.include_dirs += [str(generated), str(TREE / "include"), str(TREE / "lib")]
        extension.define_macros += [
            ("CL_TARGET_OPENCL_VERSION", "300"),
            ("_FILE_OFFSET_BITS", "64"),
            ("_GNU_SOURCE", None),
        ]
        extension.extra_compile_args.append("-pthread")
        extension.extra_link_args += ["-pthread", "-ldl"]
        extension.sources += sorted(
            str(path)
            for path in TREE.glob("lib/**/*.c")
            if path.name != "debug_info.c"  # needs libdw, and no_debug_info.c is in its place
        )


class SourceDistribution(sdist):
    """With the library's sources, so that it builds alone."""

    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, files)
        for path in (path for pattern in LIBRARY for path in TREE.glob(pattern)):
            target = pathlib.Path(base_dir) / path.relative_to(TREE)
            if target.name != "version.h":  # configure may have made it
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)


is_new = int(setuptools.__version__.split(".")[0]) >= 77
setup(
    **{"license_expression" if is_new else "license": "MIT"},
    ext_modules=[
        Extension(
            "clpool._clpool",
            language="c++",
            sources=sorted(str(path.relative_to(HERE)) for path in (HERE / "src").glob("*.c*")),
            depends=sorted(str(path.relative_to(HERE)) for path in (HERE / "src").glob("*.h")),
            extra_compile_args=["-O2", "-fvisibility=hidden", "-Wall", "-Wextra"],
        )
    ],
    cmdclass={"build_ext": BuildExtension, "sdist": SourceDistribution},
)
