# SPDX-License-Identifier: MIT
"""Builds the extension against an installed libclpool, which pkg-config knows, or else against one
that is built from the tree around this folder and linked in."""

from __future__ import annotations

import os
import pathlib
import shlex
import subprocess

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

HERE = pathlib.Path(__file__).resolve().parent
TREE = HERE.parent


def pkg_config(*arguments: str) -> list[str]:
    """What pkg-config prints, in words. Raises where it fails or is missing."""
    program = os.environ.get("PKG_CONFIG", "pkg-config")
    text = subprocess.run([program, *arguments], check=True, capture_output=True, text=True).stdout
    return shlex.split(text)


def installed_flags() -> tuple[list[str], list[str]] | None:
    """Compiler's and linker's flags of an installed libclpool, or None. CLPOOL_FROM_TREE=1 asks
    for the tree's."""
    if os.environ.get("CLPOOL_FROM_TREE", "0") != "0":
        return None
    try:
        return pkg_config("--cflags", "clpool >= 0.2.0"), pkg_config("--libs", "clpool")
    except (OSError, subprocess.CalledProcessError):
        return None


def tree_flags(folder: pathlib.Path) -> tuple[list[str], list[str]]:
    """The same for a static library, built from the tree in this folder."""
    configure = TREE / "configure"
    if not configure.exists():
        if not (TREE / "configure.ac").exists():
            raise SystemExit("clpool: pkg-config finds no libclpool >= 0.2.0; install it first")
        subprocess.run(["autoreconf", "-fi"], cwd=TREE, check=True)
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "Makefile").exists():
        # In a tree that was configured in place, make works, and no other folder is allowed.
        if (TREE / "config.status").exists():
            folder = TREE
        else:
            options = ["--without-libdw", "--disable-tool"]
            subprocess.run([str(configure), *options], cwd=folder, check=True)
    subprocess.run(["make", f"-j{os.cpu_count()}", "libclpool-internal.la"], cwd=folder, check=True)
    library = folder / ".libs" / "libclpool-internal.a"
    return (
        [f"-I{TREE / 'include'}", f"-I{folder / 'include'}"],
        [str(library), *private_libraries(folder)],
    )


def private_libraries(folder: pathlib.Path) -> list[str]:
    """What libclpool itself links: the line Libs.private of its pkg-config file."""
    text = (folder / "lib" / "clpool.pc").read_text()
    line = next(line for line in text.splitlines() if line.startswith("Libs.private:"))
    return shlex.split(line.split(":", 1)[1])


class BuildExtension(build_ext):
    def build_extension(self, extension: Extension) -> None:
        flags = installed_flags() or tree_flags(pathlib.Path(self.build_temp).resolve() / "libclpool")
        extension.extra_compile_args += flags[0]
        extension.extra_link_args += flags[1]
        super().build_extension(extension)


setup(
    ext_modules=[
        Extension(
            "clpool._clpool",
            language="c++",
            sources=sorted(str(path.relative_to(HERE)) for path in (HERE / "src").glob("*.c*")),
            depends=sorted(str(path.relative_to(HERE)) for path in (HERE / "src").glob("*.h")),
            extra_compile_args=["-O2", "-fvisibility=hidden", "-Wall", "-Wextra"],
        )
    ],
    cmdclass={"build_ext": BuildExtension},
)
