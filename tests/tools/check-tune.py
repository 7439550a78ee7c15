# SPDX-License-Identifier: MIT
"""clpool tune: the same traces give the same bytes; too short traces, several traces, limits,
costs, names; that the lines of C, Python and the environment work as they are printed; the picture.
tests/trace/test_tune has its figures and the rule by which it recommends."""
import re
import resource
import xml.etree.ElementTree

from program import *

two = pairs(1000) + row("allocate", "0x10", 4000) + row("allocate", "0x20", 4000)
for name, content in {
        "999": pairs(999), "1000": pairs(1000), "two": two,
        "loop": gzip.decompress((SOURCE / "tests/trace/short_loop.csv.gz").read_bytes()),
        "kept": pairs(1000) + row("allocate", "0x2000", 1048576),
        "failed": pairs(1000) + row("allocate failure", "(nil)", 5000),
        "recorded": "Action,Pointer,Size,Context,Kind,Flags\n" +
        "allocate,0x1000,5000,1,buffer,0x1\nfree,0x1000,5000,1,buffer,0x1\n" * 1000}.items():
    write(name + ".csv", content)

# --- The same bytes, whatever the environment says of a program's pools

SHORT = Path("short.csv").read_bytes()
text = clpool("tune short.csv")
for limit, content in ("x", SHORT), ("100", gzip.compress(SHORT)):
    again = clpool("tune -", stdin=content, environment={
        "CLPOOL_LEADING_BITS": "12", "CLPOOL_ARENA": "1", "CLPOOL_MEMORY_LIMIT": limit})
    require(again.split("\n", 1)[1] == text.split("\n", 1)[1], "another output:", again)

# --- What is said of traces

check_outputs("tune")
told = figures("tune recorded.csv")
require(told["text"] == clpool("tune recorded.csv"), "the text in JSON is another")
require(told["run"]["peak_device_bytes"] == 5007, told["run"])

# Of several traces the one that takes most is told, and only its bytes count.
alone = [it["peak_device_bytes"] for it in figures("tune short.csv")["settings"]]
told = figures("tune 1000.csv empty.csv short.csv 1000.csv")
require([it["peak_device_bytes"] for it in told["settings"]] == alone, told)
require(len(re.findall(r"^[-* ] .* GiB .*short.csv$", told["text"], re.M)) == 10, told["text"])

# Names of files and devices have no control characters and no markup.
costs = (SOURCE / "tools/costs/pocl-cpu.csv").read_text()
write("costs.csv", re.sub("^# device: .*", "\\g<0>\x1b", costs, flags=re.M))
name = os.fsdecode(b"a<b>\x1b[31m\n\xc2\x9b\xc3\xa9.csv")
write(name, two)
text = clpool(["tune", name, "--cost=./costs.csv", "-o", "plot.svg"])
says(text, "a<b>\\x1b[31m\\x0a\\xc2\\x9b\xe9.csv: 1002 allocations")
lacks(text + Path("plot.svg").read_text(), "\x1b")
says(Path("plot.svg").read_text(), "<title>a&lt;b&gt;")

# --- A setting's pools at a time: all at once would take ten times as much memory.

if not IS_SANITIZED:
    write("pools.csv", "Action,Pointer,Size,Pool\n" + "".join(
        f"allocate,{i:#x},{i * 7919 % 1003 + 1},p{i}\n" for i in range(1, 2001)))
    says(clpool("tune pools.csv --json", preexec_fn=lambda: resource.setrlimit(
        resource.RLIMIT_AS, (500 << 20, 500 << 20))), '"pools": 2000')
clpool("tune 1000.csv", 2, "cannot make a temporary file: No such file or directory (set TMPDIR "
       "to another directory)", environment={"TMPDIR": "/nowhere"})

# --- The lines that are printed make the pool that is recommended.

PROGRAM = """#include <clpool/clpool.h>
#include <stdio.h>
static clp_pool *by_code(clp_allocator *allocator)
{
%s
return pool; }
int main(int argc, char **argv)
{
  clp_allocator *allocator = NULL;
  clp_pool *pool = NULL;
  clp_arena_stats stats = CLP_ARENA_STATS_INIT;
  clp_simulated_allocator_create(0, &allocator);
  if (argv && argc > 1) clp_pool_create(allocator, NULL, &pool); else pool = by_code(allocator);
  size_t bytes = clp_pool_alloc_size(pool, clp_pool_bin_number(pool, 600000));
  printf("%%zu %%d", bytes, clp_arena_get_stats(clp_pool_allocator(pool), &stats) == CLP_SUCCESS);
  return 0;
}
"""


# A setting without an arena, and some with one, where leading bits matter and where not. Sanitizers
# have libraries of their own.
library = BUILD / ".libs/libclpool.so"
python = shutil.which(BUILD / "python-venv/bin/python") or sys.executable
has_module = subprocess.run([python, "-c", "import clpool"], capture_output=True).returncode == 0
for options, on_arena, count in ("--time=0", 0, 10), ("--time=1000000000", 1, 10), \
        ("--cost=./addresses.csv", 1, 8): # leading bits do not matter on an arena of addresses
    told = figures("tune short.csv " + options)
    require(len(told["settings"]) == count, len(told["settings"]), "settings")
    code, module, line = re.findall(r"^In .*\n\n((?:.+\n)+)", told["text"], re.M)
    require((told["recommended"]["slack"] is not None) == on_arena, options, told["recommended"])
    if has_module:
        subprocess.check_call([python, "-c", "import clpool; allocator = clpool.HostAllocator()\n"
                               f"pool = {module.strip()}; pool.allocate(600000)"])
    if IS_SANITIZED or not library.exists():
        continue
    write("program.c", PROGRAM % code)
    compiled = f"{os.environ.get('CC', 'cc')} -std=c11 -Wall -Werror -Wno-unused-but-set-variable" \
        f" -I{SOURCE}/include -I{BUILD}/include -o program program.c {library}" \
        f" -Wl,-rpath,{library.parent} && CLPOOL_ARENA=1 ./program"
    made, wanted = (subprocess.check_output(command, shell=True) for command in (
        compiled, line.strip() + " -"))
    require(made == wanted and made.endswith(b"%d" % on_arena), "the C makes", made, "not", wanted)

# --- The picture: points and labels within it, and no label on another.

SVG = "{http://www.w3.org/2000/svg}"
WIDTH, HEIGHT, CHARACTER, LINE = 660, 390, 6.5, 14 # of a character, about


def box(text):
    """Where a text is, from the left, top, right and bottom."""
    width, x, y = CHARACTER * len(text.text), float(text.get("x")), float(text.get("y"))
    left = x - width * {"end": 1, "middle": 0.5}.get(text.get("text-anchor"), 0)
    return left, y - LINE + 1, left + width, y - 1


for trace in "short.csv", "1000.csv", "recorded.csv":
    clpool(f"tune {trace} -o plot.svg")
    picture = Path("plot.svg").read_text()
    clpool(f"tune {trace} --plot=plot.svg")
    require(Path("plot.svg").read_text() == picture, "another run, another picture")
    require(picture.count(": recommended</text>") == 1, trace, "has not one recommendation")
    root = xml.etree.ElementTree.fromstring(picture)
    texts = [(text.text, *box(text)) for text in root.findall(f"{SVG}text")]
    for i, (text, left, top, right, bottom) in enumerate(texts):
        require(left >= 0 and top >= 0 and right <= WIDTH and bottom <= HEIGHT, text, "is outside")
        on = [it for it in texts[:i]
              if left < it[3] and it[1] < right and top < it[4] and it[2] < bottom]
        require(not on, text, "is on", on)
    points = [(float(it.get("cx")), float(it.get("cy"))) for it in root.findall(f"{SVG}circle")]
    require(points and all(0 < x < WIDTH and 0 < y < HEIGHT for x, y in points), "points:", points)
os.symlink("/dev/full", "full.svg")
clpool("tune two.csv --plot=full.svg", 1, "cannot write to full.svg: No space left on device")
for line in "none.csv", "two.csv --limit=10":
    clpool(f"tune {line} --plot=none.svg", 1,
           "nothing to plot: no setting takes memory, or every setting runs out of it")
require("none.svg" not in names() and not list(Path().glob(".clpool-*")), names())
