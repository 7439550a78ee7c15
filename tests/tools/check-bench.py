# SPDX-License-Identifier: MIT
"""clpool bench: the cost file, tables and JSON, on the host, on the OpenCL device and on the
stand-in for CUDA's driver, and the files that come with clpool. Any time is right."""
import re
import resource

from program import *

HOST = ["allocate", "free", "fill-fresh", "fill-reused", "pool-pair", "arena-pair"]
ANY_SIZE = {"pool-pair", "arena-pair", "sub-buffer"} # what takes as long for any size


def costs_of(allocators):
    """The cost file has each operation of each allocator, with 5 sizes or one, and clpool tune
    takes it."""
    lines = [line for line in Path("costs.csv").read_text().splitlines() if line[0] != "#"]
    require(lines[0] == "Allocator,Operation,Bytes,Nanoseconds", "the file begins", lines[0])
    rows = [re.fullmatch(r"([\w-]+,[\w-]+),[1-9]\d*,\d+(\.\d+)?(e\+\d+)?", it) for it in lines[1:]]
    wanted = sorted(f"{allocator},{operation}" for allocator, operations in allocators.items()
                    for operation in operations for _ in range(1 if operation in ANY_SIZE else 5))
    require(all(rows) and sorted(row[1] for row in rows) == wanted, "not what was wanted:", lines)
    for allocator in allocators:
        says(clpool(f"tune plain.csv --cost=./costs.csv --allocator={allocator}"),
             f"\ncosts: {allocator}, ./costs.csv")


before = names()
text = clpool("bench --allocator=host --allocator=host -o costs.csv",
              environment={"CLPOOL_MEMORY_LIMIT": "1K"}) # which is for a program's pools
says(text, "size    256 bytes     4.00 KiB     1.00 MiB     4.00 MiB    64.00 MiB", *HOST)
costs_of({"host": HOST})
text = Path("costs.csv").read_text()
lacks(text, "# device")
says(clpool("bench --allocator=host --json"), '"bytes": 67108864', '"sub_buffer_ns": null')
if not IS_SANITIZED: # memory that runs out: the file that was there stays
    clpool("bench --allocator=host -o costs.csv", 1,
           lambda said: re.fullmatch("clpool bench: .* 67108864 bytes.*\n", said),
           preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (100 << 20, 100 << 20)))
require(Path("costs.csv").read_text() == text, "a failed measurement is in the file")
require(names() == sorted(before + ["costs.csv"]), "files are left:", names())

if NO_OPENCL:
    words = "clpool bench: note: there is no OpenCL driver (install "
    says(clpool("bench", error=lambda said: said.startswith(words), environment=NO_OPENCL), "host:")
devices = [device for platform in figures("info")["platforms"] for device in platform["devices"]]
if devices:
    clpool("bench -o costs.csv", error=lambda said: said.count("\n") <= 1)
    of = {"host": HOST, **dict.fromkeys(("cl-deferred", "cl-immediate"), HOST + ["sub-buffer"])}
    if "coarse-grain buffer" in devices[0]["svm"]:
        of["cl-svm"] = HOST
    costs_of(of)
    says(Path("costs.csv").read_text(), "# device: ")
    lacks(clpool("bench --json --allocator=cl-immediate --device=0.0"), "null")

if FAKE_CUDA.exists():
    clpool("bench --allocator=cuda-async --device=1 -o costs.csv")
    costs_of({"cuda-async": ["allocate", "free", "pool-pair", "arena-pair"]})

# The files that come with the program.
for file in (SOURCE / "tools/costs").glob("*.csv"):
    says(clpool("tune plain.csv --cost=" + file.stem), f", {file.stem} ")
