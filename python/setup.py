# SPDX-License-Identifier: MIT
"""Builds the extension against an installed libclpool, which pkg-config knows, or else against one
that is built from the tree around this folder and linked in. CLPOOL_BUILD names a folder where the
tree was configured, and asks for that."""

from __future__ import annotations

import os
import pathlib
import shlex
import subprocess

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

HERE = pathlib.Path(__file__).resolve().parent
TREE = HERE.parent
WANTED = "clpool >= 0.2.0"


def pkg_config(*arguments: str) -> list[str]:
    """What pkg-config prints, in words. Raises where it fails or is missing."""
    program = os.environ.get("PKG_CONFIG", "pkg-config")
    text = subprocess.run([program, *arguments], check=True, capture_output=True, text=True).stdout
    return shlex.split(text)


def installed_flags() -> tuple[list[str], list[str]] | None:
    """Compiler's and linker's flags of an installed libclpool; None where there is none."""
    try:
        return pkg_config("--cflags", WANTED), pkg_config("--libs", WANTED)
    except (OSError, subprocess.CalledProcessError):
        return None


def configure(folder: pathlib.Path) -> pathlib.Path:
    """Configures the tree in the folder; returns that, or the tree if it was configured in place,
    which allows no other one."""
    if (TREE / "config.status").exists():
        return TREE
    if not (TREE / "configure.ac").exists():
        raise SystemExit(f"pkg-config finds no {WANTED}: install libclpool first")
    if not (TREE / "configure").exists():
        subprocess.run(["autoreconf", "-fi"], cwd=TREE, check=True)
    if not (folder / "config.status").exists():
        folder.mkdir(parents=True, exist_ok=True)
        options = ["--without-libdw", "--disable-tool"]
        subprocess.run([str(TREE / "configure"), *options], cwd=folder, check=True)
    return folder


def tree_flags(folder: pathlib.Path) -> tuple[list[str], list[str]]:
    """Flags for the library that is built in this folder, where the tree was configured."""
    library = "libclpool-internal.la"  # of objects that a shared library may have
    subprocess.run(["make", f"-j{os.cpu_count()}", library], cwd=folder, check=True)
    paths = [f"-I{TREE / 'include'}", f"-I{folder / 'include'}"]
    archive = (folder / ".libs" / library).with_suffix(".a")
    return paths, [str(archive), "-Wl,--exclude-libs,ALL", *private_libraries(folder)]


def private_libraries(folder: pathlib.Path) -> list[str]:
    """What libclpool itself links: the line Libs.private of its pkg-config file."""
    text = (folder / "lib" / "clpool.pc").read_text()
    line = next(line for line in text.splitlines() if line.startswith("Libs.private:"))
    return shlex.split(line.split(":", 1)[1])


class BuildExtension(build_ext):
    def flags(self) -> tuple[list[str], list[str]]:
        if "CLPOOL_BUILD" in os.environ:
            return tree_flags(pathlib.Path(os.environ["CLPOOL_BUILD"]))
        own = pathlib.Path(self.build_temp).resolve() / "libclpool"
        return installed_flags() or tree_flags(configure(own))

    def build_extension(self, extension: Extension) -> None:
        compiler, linker = self.flags()
        extension.extra_compile_args += compiler
        extension.extra_link_args += linker
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
