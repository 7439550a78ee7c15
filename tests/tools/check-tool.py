# SPDX-License-Identifier: MIT
"""clpool: what it refuses, which is a table; what it replays, and prints of that."""
import itertools
import re
import resource

from program import *

# --- Refusals

READ = "[replay;report -o page.html --perfetto=page.json;tune --cost=pocl-cpu]"
packed = Path("resnet.csv.gz").read_bytes()
plain = Path("plain.csv").read_bytes()
for name, content in {
        "junk": b"\x7fELF\2\1", "short.pickle": b"\x80\4\x95junk", "cut.csv.gz": packed[:50000],
        "killed.csv": plain + b"1,00:00:0", "windows.csv": plain.replace(b"\n", b"\r\n"),
        "old": "before", "secret.csv": ""}.items():
    write(name, content)
os.mkdir("folder")
os.symlink("/dev/stdout", "stdout.svg")
os.symlink("none.csv", "link.csv")
os.symlink("old", "link")
os.chmod("secret.csv", 0)
before = names()


def choices(line):
    """What a line stands for, each with what was chosen in its brackets."""
    parts = [part.split(";") for part in re.split(r"[][]", line.replace("READ", READ))]
    for chosen in itertools.product(*parts):
        yield "".join(chosen), chosen[1::2] or [""]


info = figures("info")
cases = {"unreadable": not os.access("secret.csv", os.R_OK), "no-driver": NO_OPENCL,
         "no-opencl": not info["opencl"], "opencl": info["opencl"], "cuda": FAKE_CUDA.exists(),
         "device": any(platform["devices"] for platform in info["platforms"])}
table = re.findall(r"^(?:\?(\S*) )?([^#\n].*|) \| (\d) \| (.*)", (
    SOURCE / "tests/tools/refusals.txt").read_text(), re.M)
refused = 0
for case, words, code, message in table:
    for words, chosen in choices(words) if cases.get(case, True) else ():
        said = message.replace("{command}", words.split(" ")[0]).replace("{value}", chosen[-1])
        require(clpool(words, int(code), said, environment=NO_OPENCL if case == "no-driver" else {})
                == "", words, "has output")
        refused += 1
require(refused > 200, "too few refusals:", refused)
for words, _ in choices(READ):
    clpool(f"{words} cut.csv.gz", 2, lambda said: "cannot decompress further: unexpected" in said)
    clpool(f"{words} -", 2, "standard input:2:32: expected a size in bytes, a decimal number of at "
           'most 64 bits, found "-5"', stdin=Path("negative.csv").read_bytes())
with open("none.csv") as trace:
    clpool("report - -o ./none.csv", 2, '--output would overwrite the trace, "./none.csv"',
           stdin=trace)
clpool("replay -", 2, "standard input:1: cannot read further: Bad file descriptor", stdin=None,
       preexec_fn=lambda: os.close(0))
require(names() == before and Path("old").read_text() == "before", "there is", names())

# --- What is unusual and no error: --lenient, a row that was cut, a pipe, lines as on Windows,
# columns in any order, and sizes that no device has.

for command, (name, option, words, frees) in itertools.product(("replay", "report", "tune"), (
        ("late.csv", "--lenient", "late.csv: skipped 2 frees of memory that was "
         "allocated before the trace began, the first in line 3", 1),
        ("killed.csv", "", "killed.csv: line 4, the last one, is incomplete and was skipped", 1),
        ("windows.csv", "", "", 1), ("columns.csv", "", "", 3), ("huge.csv", "--limit=1G", "", 0))):
    words = words and "note: " + words
    told = figures(f"{command} {name} {option}", error=words)
    piped = figures(f"{command} - {option}", stdin=Path(name).read_bytes(),
                    error=words.replace(name, "standard input"))
    require(command == "tune" or told["frees"] == piped["frees"] == frees, command, name, told)

# --- Help, of whose options check-docs.py knows, and info

require(re.fullmatch(r"clpool \d+\.\d+\.\d+\n", clpool("--version")), "--version")
for words in "help", "help -h", "-h":
    require(clpool(words) == clpool("--help"), words, "is not the help")
says(clpool("--help"), *(f"  {command} " for command in COMMANDS))
lacks(clpool("info"), "(null)")

# --- Replays: the figures of each, and what is said.

check_outputs("replay")


def steady(line, told=None, **more):
    """The figures that do not differ from run to run."""
    own = "ns_per_operation", "trace", "allocator", "device", "peak_reserved_bytes"
    return {key: steady("", value) if isinstance(value, dict) else value for key, value in (
        told or figures("replay " + line, **more)).items() if key not in own}


# A file that is compressed or from a pipe is the same, whatever reads it several times; what says
# how a program's pools are is nothing to those of the replay.
short = Path("short.csv").read_bytes()
for line in "", "--compare", "--scale=auto", "--passes=2":
    require(steady("short.csv " + line) == steady("- " + line, stdin=gzip.compress(short),
            environment={"CLPOOL_LEADING_BITS": "1", "CLPOOL_ARENA": "1", "CLPOOL_HOLD": "0"}),
            line, "on a pipe")
says(clpool("replay short.csv --limit=1", 1, "short.csv: every allocation was refused"),
     "allocations refused")
for limit, code in ("lots", 2), ("40%", 1), ("", 2), ("0.5", 2):
    clpool("replay short.csv", code, lambda said: f'CLPOOL_MEMORY_LIMIT is "{limit}"' in said,
           environment={"CLPOOL_MEMORY_LIMIT": limit})
require(steady("huge.csv", environment={"CLPOOL_MEMORY_LIMIT": "1K"})["limit"] == 1024, "no limit")

# Names that JSON and terminals must not have as they are.
name = os.fsdecode(b'a"\\\1\x1b[31m\n\xc3\xa4\xff\xc3(\xe2\x82(.csv')
write(name, "Action,Pointer,Size\nallocate,0x1,5\n")
require(figures(["replay", name])["trace"].replace("\ufffd", "?") ==
        'a"\\\1\x1b[31m\n\xe4??(??(.csv', "a name in JSON")
says(clpool(["replay", name]), 'a"\\\\x01\\x1b[31m\\x0a\xe4\\xff\\xc3(\\xe2\\x82(.csv on simulated')
with open("/dev/full", "w") as full:
    for line in "replay plain.csv", "report short.csv -o -", "--help":
        clpool(line, 1, "cannot write to standard output: No space left on device", stdout=full)

# --- Allocators: each has the figures of the simulated one, or its lack has a reason; its name is
# in help, pages, completion and guide.

reason = re.compile("missing: this clpool was built without OpenCL$|there is no (OpenCL|CUDA) "
                    "(driver|device)|in shared virtual memory")
scaled = steady("short.csv --scale=0.001")
guide = (SOURCE / "doc/getting-started.md").read_text()
page = (SOURCE / "doc/clpool-replay.1").read_text().replace("\\-", "-")
for name in info["allocators"]:
    line = f"replay short.csv --scale=0.001 --json --allocator={name}"
    done = subprocess.run([CLPOOL, *line.split()], text=True, capture_output=True)
    require(reason.search(done.stderr) or json.loads(done.stdout)["allocator"] == name and
            steady("", json.loads(done.stdout)) == scaled, name, done)
    require(f"_create`, `{name}`" in guide, name, "is not in getting-started.md")
    for command in ("replay",) if name == "simulated" else ("replay", "tune", "bench"):
        for text in clpool(command + " -h"), clpool(f"--complete {command} --allocator="), page:
            require(re.search(rf"(?<![\w-]){name}\b", text), name, command)

# --- Devices

if cases["device"]:
    figures("replay short.csv --allocator=cl-deferred --scale=auto --compare --device=0.0",
            error=lambda said: said.startswith("clpool replay: warning: "))
says(clpool("info", environment=NO_CUDA), "CUDA: none: " + NO_CUDA_SAYS)
says(figures("info", environment=NO_CUDA)["cuda"]["missing"], NO_CUDA_SAYS)
clpool("replay short.csv --allocator=cuda-async", 1, lambda said: NO_CUDA_SAYS in said,
       environment=NO_CUDA)
text = clpool("info", environment={"POCL_CACHE_DIR": "/dev/null/pocl"})
require("  no devices" not in text or "  no devices (PoCL needs a writable " in text, text)
if FAKE_CUDA.exists():
    line = "replay short.csv --scale=0.001 --allocator=cuda-async "
    says(clpool("info"), "  device 1: ", "    memory pools          yes")
    require(info["cuda"]["devices"][1]["memory_pools"], info)
    found = figures(line + "--device=1")
    require(found["peak_reserved_bytes"] >= found["peak_device_bytes"], found)
    says(clpool(line + "--no-pool"), "  peak taken by the driver's own pool")
    lacks(clpool(line + "--compare --arena --json"), "peak_reserved_bytes")
    # A part of the device's memory, and a scale that fits into it.
    found = figures("replay resnet.csv.gz --allocator=cuda-async --scale=auto --limit=25%")
    require(0 < found["peak_managed_bytes"] <= found["limit"] and found["failures"] == 0 and
            found["scale"] == 0.0078125, found)

# --- A trace from a pipe that is larger than the memory that it takes. A sanitizer reserves address
# space without end.

count = 10000 if IS_SANITIZED else 1250000
found = figures("replay -", stdin=pairs(count).encode(), preexec_fn=None if IS_SANITIZED else
                lambda: resource.setrlimit(resource.RLIMIT_AS, (1 << 26, 1 << 26)))
require(found["allocations"] == found["frees"] == count, found)

# --- The progress bar: on a terminal, after half a second, and gone at the end.

slow = f"(head -n 1 plain.csv; sleep 1; sed -n 2p plain.csv) | '{CLPOOL}' replay - >out"
done = subprocess.run(["sh", "-c", slow], capture_output=True, text=True)
require(done.returncode == 0 and done.stderr == "", "a progress bar in a file:", done.stderr)
for columns, words in (80, "1 operations: replay with a pool"), (20, "\r1 operations: repla\33"):
    terminal, end = os.openpty()
    subprocess.run(["sh", "-c", f"stty cols {columns} <&2; {slow}"], stderr=end, check=True)
    os.close(end)
    text = ""
    while not text.endswith("\r\33[K"): # or else the end of the terminal is an error
        text += os.read(terminal, 10000).decode()
    require(words in text, "progress:", repr(text))

# --- What shells complete, bash with "=" between words as it is at first, and without.

# As bash calls the function for these words, of which the last is at the cursor.
BASH = """set -u; . "$0/tools/clpool.bash"; COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
function=$(complete -p clpool); function=${function#*-F }
"${function% *}" clpool "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\\n' "${COMPREPLY[@]+"${COMPREPLY[@]}"}\""""
FISH = """source $argv[1]/tools/clpool.fish
complete -C "clpool $argv[2]" | string replace -r "\\t.*" "" """
os.makedirs("complete/traces")
for name in "trace.csv", "a trace.csv", "m y.csv":
    write("complete/" + name, "")
cost = min(file.stem for file in (SOURCE / "tools/costs").glob("*.csv"))
for shell, words, answers in re.findall(r"^(bash|fish)\|(.*)\|(.*)", (
        SOURCE / "tests/tools/completion.txt").read_text().replace("COST", cost), re.M):
    words = ["--norc", "-c", BASH, SOURCE, "clpool", *shlex.split(words)] if shell == "bash" else [
        "--no-config", "-c", FISH, SOURCE, words]
    if shutil.which(shell):
        done = subprocess.run([shell, *words], capture_output=True, text=True, cwd="complete", env={
            **os.environ, "HOME": folder, "PATH": f"{CLPOOL.parent}:{os.environ['PATH']}"})
        require(" ".join(sorted(done.stdout.splitlines())) == answers and not done.stderr, shell,
                words[3:], "completes", done)
print(refused, "refusals,", len(info["allocators"]), "allocators")
