# SPDX-License-Identifier: MIT
"""Checks a wheel, and what the tree says of the packages: check_packaging.py TREE WHEEL

- Every file that names the version or the home page names the same one.
- The wheel's extension needs no library but those that manylinux_2_28 has, and no function that
  glibc 2.28 lacks, also if it was linked with a newer one.
- cibuildwheel reads the table for it, and builds for each version of Python in the classifiers.
- rattler-build reads the conda recipe.
"""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys
import zipfile

import rattler_build
from elftools.elf.elffile import ELFFile

LIBRARIES = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "libgcc_s.so.1",
             "libstdc++.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}  # fmt: skip
# What glibc 2.28 has too, elsewhere or under another name: 2.33 made stat and its like functions,
# and 2.34 moved libpthread and libdl into libc.
MOVED = re.compile(r"(__)?pthread_\w+|dl\w+|sem_\w+|[fl]?stat(at)?(64)?")

VERSION = {
    "configure.ac": r"AC_INIT\(\[clpool\], \[([\d.]+)\]",
    "python/pyproject.toml": r'(?m)^version = "(.*)"',
    "packaging/conda/recipe.yaml": r'(?m)^  version: "(.*)"',
    "CITATION.cff": r"(?m)^version: (.*)",
    "debian/changelog": r"\Aclpool \((.*)\)",
}
HOME = {
    "configure.ac": r"AC_INIT\(.*\[(https:.*)\]\)",
    "python/pyproject.toml": r'(?m)^Homepage = "(.*)"',
    "packaging/conda/recipe.yaml": r"(?m)^  homepage: (.*)",
    "CITATION.cff": r"(?m)^url: (.*)",
    "debian/control": r"(?m)^Homepage: (.*)",
}


def same(tree: pathlib.Path, patterns: dict[str, str]) -> str:
    found = {file: re.search(p, (tree / file).read_text())[1] for file, p in patterns.items()}
    if len(set(found.values())) != 1:
        sys.exit(f"these differ: {found}")
    return found["configure.ac"]


def check_wheel(wheel: pathlib.Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        libraries = [name for name in names if re.search(r"\.so(\.|$)", name)]
        (extension,) = libraries  # nothing that auditwheel had to add
        elf = ELFFile(archive.open(extension))
        needed = {tag.needed for tag in elf.get_section_by_name(".dynamic").iter_tags("DT_NEEDED")}
        if not needed <= LIBRARIES:
            sys.exit(f"{wheel.name} needs {sorted(needed - LIBRARIES)}")
        if elf.get_section_by_name(".symtab"):
            sys.exit(f"{wheel.name} is not stripped")
        if not any(name.endswith("dist-info/licenses/COPYING") for name in names):
            sys.exit(f"{wheel.name} has no licence file")
        strange = newer_than(elf, (2, 28))
    if strange:
        sys.exit(f"{wheel.name} needs a newer glibc for {strange}")
    print(f"{wheel.name}: {wheel.stat().st_size / 1024:.0f} KiB, needs {' '.join(sorted(needed))}")


def newer_than(elf: ELFFile, limit: tuple[int, int]) -> list[str]:
    """The functions that a glibc of this version lacks."""
    versions = {}
    for _, entries in elf.get_section_by_name(".gnu.version_r").iter_versions():
        versions.update({entry["vna_other"]: entry.name for entry in entries})
    symbols = elf.get_section_by_name(".dynsym")
    strange = []
    for index, entry in enumerate(elf.get_section_by_name(".gnu.version").iter_symbols()):
        numbers = re.fullmatch(r"GLIBC_(\d+)\.(\d+).*", versions.get(entry["ndx"], ""))
        name = symbols.get_symbol(index).name
        if numbers and tuple(map(int, numbers.groups())) > limit and not MOVED.fullmatch(name):
            strange.append(f"{name}@{numbers[0]}")
    return strange


def check_cibuildwheel(tree: pathlib.Path) -> None:
    said = subprocess.run(
        ["cibuildwheel", "--platform=linux", "--print-build-identifiers", tree / "python"],
        cwd=tree / "python", check=True, stdout=subprocess.PIPE, text=True,
    ).stdout  # fmt: skip
    built = set(re.findall(r"cp3(\d+)-manylinux_x86_64", said))
    promised = set(re.findall(r":: 3\.(\d+)", (tree / "python/pyproject.toml").read_text()))
    if built != promised:
        sys.exit(f"cibuildwheel builds for 3.{built}, the classifiers name 3.{promised}")


def check_recipe(tree: pathlib.Path, version: str) -> None:
    recipe = rattler_build.Stage0Recipe.from_file(tree / "packaging/conda/recipe.yaml")
    packages = [rendered.recipe.package for rendered in recipe.render()]
    made = sorted((package.name, str(package.version)) for package in packages)
    if made != [("clpool", version), ("libclpool", version)]:
        sys.exit(f"the conda recipe makes {made}")


def main() -> None:
    tree, wheel = map(pathlib.Path, sys.argv[1:])
    version = same(tree, VERSION)
    home = same(tree, HOME)
    check_wheel(wheel)
    check_cibuildwheel(tree)
    check_recipe(tree, version)
    print(f"clpool {version}, {home}")


if __name__ == "__main__":
    main()
