# SPDX-License-Identifier: MIT
"""What the checks of clpool share: running it, and a folder with traces, which is the current one
from the import of this module on."""
import atexit
import gzip
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(os.environ["top_srcdir"]).resolve()
BUILD = Path(os.environ["top_builddir"]).resolve()
CLPOOL = BUILD / "tools/clpool"
IS_SANITIZED = os.environ.get("clp_sanitized") == "yes"
FAKE_CUDA = BUILD / "tests/fakecuda/.libs/libfakecuda.so"
if FAKE_CUDA.exists():
    os.environ["CLPOOL_CUDA_LIBRARY"] = str(FAKE_CUDA)
HEADER = "Thread,Time,Action,Pointer,Size,Stream\n"


def require(condition, *words):
    if not condition:
        sys.exit(" ".join(map(str, words)))


def row(action, pointer, size):
    return f"1,00:00:00.000000,{action},{pointer},{size},0\n"


def pairs(count):
    """A block that comes and goes."""
    return HEADER + (row("allocate", "0x1000", 5000) + row("free", "0x1000", 5000)) * count


def write(name, content):
    Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())


def names():
    return sorted(os.listdir())


def clpool(line, code=0, error="", stdin=b"", environment={}, **more):
    """Runs clpool, which ends with that code, and says that line after its name, or what a function
    takes. Gives its output."""
    words = line if isinstance(line, list) else shlex.split(line)
    more["input" if isinstance(stdin, bytes) else "stdin"] = stdin
    done = subprocess.run([CLPOOL, *words], env={**os.environ, **environment},
                          stderr=subprocess.PIPE, **{"stdout": subprocess.PIPE, **more})
    said = done.stderr.decode(errors="replace")
    require(done.returncode == code, "clpool", *words, "ends with", done.returncode, said)
    name = "clpool " + words[0] if words and words[0] in COMMANDS else "clpool"
    require(error(said) if callable(error) else said == (error and f"{name}: {error}\n"),
            "clpool", *words, "says:", said)
    return (done.stdout or b"").decode()


def figures(line, **more):
    return json.loads(clpool(line + (["--json"] if isinstance(line, list) else " --json"), **more))


def says(text, *words):
    for word in words:
        require(word in text, "the output lacks", repr(word) + ":", text)


def lacks(text, *words):
    for word in words:
        require(word not in text, "the output has", repr(word) + ":", text)


def check_outputs(command, run=clpool):
    """The command prints what the table says, in 80 columns but for names, or what is run does."""
    for row in (SOURCE / "tests/tools/outputs.txt").read_text().splitlines():
        if row.startswith(command + " "):
            line, has, no = (part.strip(" ").replace("\\n", "\n") for part in row.split("|"))
            text = run(line)
            says(text, *filter(None, has.split("; ")))
            lacks(text, *filter(None, no.split("; ")))
            has_names = "--json" in line or "2 traces" in text or run != clpool
            require(has_names or not re.search("\n.{81}", text), line, "prints long lines:", text)


COMMANDS = ("info", "replay", "report", "tune", "bench")
require(CLPOOL.exists(), CLPOOL, "is missing")
folder = tempfile.mkdtemp()
atexit.register(shutil.rmtree, folder, True)
os.chdir(folder)
os.symlink(SOURCE / "examples/data/resnet50_train.csv.gz", "resnet.csv.gz")
write("short.csv", b"".join(gzip.open("resnet.csv.gz").readlines()[:2001]))
for part in (SOURCE / "tests/tools/traces.txt").read_text().split("== ")[1:]:
    write(*part.split("\n", 1))

# Environments without drivers; {} where the loader of OpenCL finds some all the same.
NO_CUDA = {"CLPOOL_CUDA_LIBRARY": "/no/such/driver.so"}
NO_CUDA_SAYS = "there is no CUDA driver: /no/such/driver.so: "
NO_OPENCL = {"OCL_ICD_VENDORS": f"{SOURCE}/tests/tools/"}
if "OpenCL: none: there is no OpenCL driver" not in clpool("info", environment=NO_OPENCL):
    NO_OPENCL = {}
