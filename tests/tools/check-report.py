# SPDX-License-Identifier: MIT
"""clpool report: the page, its figures and its script in a browser, the counters, and that no part
of a file is ever left behind."""
import re
import resource
import signal
import xml.etree.ElementTree as xml

from program import *


def check_figures(page, ids, told):
    """The page says the figures of the JSON, and its chart reaches the peaks."""
    words = {"yes": 1, "no": 0, "none": None}
    cells = {cell.get("data-key"): cell.text for cell in page.iter("td") if cell.get("data-key")}
    shown = {key: words[text] if text in words else float(text.replace(",", ""))
             for key, text in cells.items()}
    numbers = {key: value for key, value in told.items() if not isinstance(value, (str, list))}
    require(shown == numbers, "the page has", shown, "not", numbers)
    require(cells["peak_managed_bytes"] == f"{told['peak_managed_bytes']:,}", "no commas")
    kinds, bins = told["by_kind"], told["bins"]
    has_stacks = any(group["from"] for group in told["largest"])
    for section, is_there in {
            "memory": True, "peak": True, "largest": True, "figures": True, "stacks": has_stacks,
            "by_pool": told["pools"] > 1, "bins": told["held_bytes_at_peak"] > 0,
            "by_kind": any(kind["kind"] for kind in kinds)}.items():
        require((section in ids) == is_there, "the section", section)

    spans = json.loads(page.find(".//script[@id='spans']").text)
    require(spans[-1][1] == told["events"], "the chart ends at", spans[-1][1])
    for add, found in (max, {"peak_active_bytes": 4, "peak_managed_bytes": 5,
                             "peak_device_bytes": 7}), \
            (sum, {"hits": 8, "misses": 9, "failures": 10}):
        for key, column in found.items():
            require(add(span[column] for span in spans) == told[key], key, "in the chart")
    for rows, column, key in (bins, "held_bytes_at_peak", "held_bytes_at_peak"), \
            (bins, "misses", "misses"), (kinds, "allocations", "allocations"), \
            (kinds, "active_bytes_at_peak", "peak_active_bytes"):
        require(sum(row[column] for row in rows) == told[key], key, "do not add up")
    sizes = [group["bytes"] for group in told["largest"]]
    require(sizes == sorted(sizes, reverse=True), "the largest are not in order:", sizes)
    rows = page.findall(".//section[@id='largest']//tr")
    require(len(rows) == len(sizes) + 1, "the table of the largest has other rows")
    flames = [it for it in page.iter("div") if "flame" in it.get("class", "").split()]
    require(len(flames) == 3 * has_stacks, "flame graphs")
    for flame in flames: # whose boxes are inside of their callers, which come first
        boxes = []
        for box in flame.iter("b"):
            x, width, row = map(float, re.findall(r"--[xwy]:([0-9.]+)", box.get("style")))
            boxes.append((x - 1e-4, x + width + 1e-4, row))
            callers = [it for it in boxes if it[0] <= x and x + width <= it[1] and it[2] == row - 1]
            require(row == 0 or len(callers) == 1, box.text, "is called by", callers)


def is_sound(name, told=None):
    """A page is well-formed XML and refers to nothing outside."""
    text = Path(name).read_text()
    require(text.startswith("<!DOCTYPE html>\n") and text.endswith("</html>\n"), name, "is no HTML")
    found = re.search(r"https?:|src=|href=|@import|url\(", text, re.I)
    require(not found, name, "refers to something outside:", found)
    require(len(text) < 200000, name, "has", len(text), "characters")
    page = xml.fromstring(text)
    ids = [element.get("id") for element in page.iter() if element.get("id")]
    require(len(ids) == len(set(ids)), "the same id twice:", ids)
    require(not [it for it in page.iter("path") if re.search("nan|inf", it.get("d"), re.I)], name)
    if told and told["peak_active_bytes"]:
        check_figures(page, ids, told)
    return text


def check_counters(told):
    """Counters are events of the Trace Event Format, whose time does not go back, and come to the
    figures."""
    begin, *events = json.loads(Path("counters.json").read_text())["traceEvents"]
    require(begin["ph"] == "M" and begin["args"]["name"] == told["trace"], begin)
    times = [event["ts"] for event in events]
    require(times == sorted(times), "time goes back")
    require(abs((times or [0])[-1] / 1e6 - told["seconds"]) < 1e-6, "the last event is late")
    seen = {"active": [0], "bytes": [0], "hits": [0], "misses": [0], "count": []}
    for event in events:
        for series, value in event["args"].items():
            seen.setdefault(series, []).append(value)
        if event["name"] == "memory":
            memory = sum(event["args"].values())
        require(event["name"] != "managed" or event["args"]["bytes"] == memory, "no sum:", event)
    for found, key in (max(seen["active"]), "peak_active_bytes"), \
            (max(seen["bytes"]), "peak_managed_bytes"), (sum(seen["count"]), "failures"), \
            (seen["hits"][-1], "hits"), (seen["misses"][-1], "misses"):
        require(found == told[key], key, "is", found, "in the counters, not", told[key])


def page_of(*words):
    """Makes a page and counters; what JSON tells, and the page."""
    told = figures(["report", *words, "-o", "page.html", "--perfetto=counters.json"])
    check_counters(told)
    return told, is_sound("page.html", told)


# --- The figures are those of a replay

other = {"ns_per_operation", "device", "pooled", "passes", "scale", "first_failure_event"}
for options in "", "--leading-bits=1", "--limit=2G", "--arena=0.1 --leading-bits=6 --limit=3.3G":
    told, _ = page_of("short.csv", *options.split())
    for key, value in figures(f"replay short.csv {options}").items():
        require(key in other or told[key] == value, options, key, "is", told.get(key), "not", value)
page = clpool("report short.csv -o -")
require(page == clpool("report short.csv -o - --leading-bits=4"), "-o - writes another page")
piped = clpool("report - -o -", stdin=Path("short.csv").read_bytes())
require(piped.replace("standard input", "short.csv").replace("tune -", "tune short.csv") == page,
        "standard input gives another page")

# --- Small traces: what pages say of them, and JSON

check_outputs("report", lambda line: page_of(*line.split()[1:])[1])
pools = {pool["name"]: pool for pool in figures("report pools.csv")["by_pool"]}
require(pools['<b>&"c", d']["peak_active_bytes"] == 3000, pools)
require(figures("report midnight.csv")["seconds"] == 2.5, "a late row, or midnight, takes time")
# Names that HTML must escape: markup, quotes, control characters, UTF-8 and what is none.
name = os.fsdecode(b"a<b>&\"'\1\xc3\xa4\xff\xef\xbf\xbe\xef\xbf\xbf\xef\xbf\xbd.csv")
shutil.copy("stacks.csv", name)
told, page = page_of(name)
says(page, "a&lt;b&gt;&amp;&quot;&#39;&#xfffd;\xe4&#xfffd;&#xfffd;&#xfffd;\ufffd.csv")
require(["inner", "/x/<app>.py:7:step", "/x/<app>.py:10:<module>"] in [
    group["from"] for group in told["largest"]], told["largest"])
os.rename("page.html", "stacks.html")
require(clpool("report stacks.csv --folded=-") ==
        "/x/<app>.py:10:<module>;/x/<app>.py:6:load 1000\n"
        "/x/<app>.py:10:<module>;/x/<app>.py:7:step 200\n"
        "/x/<app>.py:10:<module>;/x/<app>.py:7:step;inner 500\n", "--folded")
os.mkfifo("pipe") # an object that is no file would be waited for, and one is no program
stacks = f"Action,Pointer,Size,Stack\n#frame 1 0 {folder}/pipe+0x1f\n#frame 2 1 {folder}/old+0x2f\n"
write("pipe.csv", stacks + "allocate,0x1,5,2\n")
write("old", "before")
require(clpool("report pipe.csv --folded=-") == "pipe+0x1f;old+0x2f 5\n", "a pipe has lines")
write("cut.csv", stacks[:-1])
clpool("report cut.csv --json", 1, lambda said: "line 3, the last one, is incomplete" in said)

# A long trace is thinned: the counters of ten million events would fill a disk.
write("long.csv", "Action,Pointer,Size\n" + "".join(
    f"allocate,0x1,{i}\nfree,0x1,{i}\n" for i in range(100000)))
page_of("long.csv")
require(Path("counters.json").read_text().count("\n") < 70000, "there are as many counters")

# --- Files appear whole or not at all


def limit():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))


before = names()
for option in "-o", "--perfetto":
    clpool(f"report short.csv {option} old", 1, "cannot write to old: File too large",
           preexec_fn=limit)
require(Path("old").read_text() == "before" and names() == before, names())
os.mkdir("folder")
os.chmod("folder", 0o500)
if not os.access("folder", os.W_OK):
    clpool("report short.csv -o folder/x", 1, "cannot write to folder/x: Permission denied")
    os.chmod("old", 0o400)
    clpool("report short.csv -o old", 1, "cannot write to old: Permission denied")
os.chmod("folder", 0o700)

# A link stays one, and what it leads to keeps its rights; a new file has the usual ones. A name may
# be as long as the file system takes it.
os.umask(0o027)
os.chmod("old", 0o640)
os.symlink("old", "link")
os.symlink("folder/new", "next")
for name, file in ("link", "old"), ("next", "folder/new"), ("n" * 255, "n" * 255):
    clpool(f"report short.csv -o {name}")
    require(os.path.islink(name) == (name != file), name, "was replaced")
    require(os.stat(file).st_mode & 0o777 == 0o640, file, "has other rights")
    is_sound(file)
require(names() == sorted(before + ["folder", "link", "next", "n" * 255]), names())

# A signal that cannot be caught ends the program in the middle of a trace: the files that it writes
# have no names yet, except where the file system has no such files.
before = names()
child = subprocess.Popen([CLPOOL, "report", "-", "-o", "killed.html", "--perfetto=killed.json"],
                         stdin=subprocess.PIPE)
while sum(os.path.realpath(file).startswith(os.getcwd())
          for file in Path(f"/proc/{child.pid}/fd").iterdir()) < 2:
    require(child.poll() is None, "the program ended too early")
named = [str(name) for name in Path().glob(".clpool-*")]
child.kill()
require(child.wait() < 0 and names() == sorted(before + named), names())

# --- In a browser

browser = next(filter(shutil.which, ("chromium", "chromium-browser", "google-chrome")), None)


def browse(page, script, wanted):
    """What the script finds in a page is what is wanted, and the page does not complain."""
    script = "<script>addEventListener('load', () => { const found = []; const press = key => " \
        "document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: key, bubbles: " \
        f"true}})); {script} document.body.dataset.found = found.join(); }});</script></body>"
    write("browsed.html", Path(page).read_text().replace("</body>", script))
    done = subprocess.run(
        [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
         "--hide-scrollbars", f"--user-data-dir={folder}/browser", "--enable-logging=stderr",
         "--virtual-time-budget=5000", "--window-size=800,900", "--dump-dom",
         f"file://{folder}/browsed.html"], capture_output=True, text=True, timeout=300)
    if "<body" not in done.stdout:
        sys.exit(print(browser, "does not run here:", done.stderr))
    found = re.search('data-found="([^"]*)"', done.stdout)
    require("CONSOLE" not in done.stderr, page, done.stderr)
    require(found and re.fullmatch(wanted, found[1]), page, "has", found)


# What is told of the middle of the chart to a mouse, without one, and after three steps by key.
CHART = """
    const plot = document.querySelector('svg.plot'), box = plot.getBoundingClientRect();
    const at = {clientX: box.left + box.width * 0.52, clientY: box.top + box.height / 2};
    const tip = document.getElementById('tip');
    const note = () => found.push(tip.hidden ? 'none' : tip.textContent);
    plot.dispatchEvent(new PointerEvent('pointermove', at)); note();
    plot.dispatchEvent(new PointerEvent('pointerleave', {pointerType: 'mouse'})); note();
    document.querySelector('.wide').focus();
    for (const i of [0, 1, 2]) press('ArrowRight');
    note();"""
# The per cents of a flame graph's width that three boxes have: at first, with one that was clicked
# at, with one that was gone to by key, and in other views.
FLAMES = """
    const seen = [...document.querySelectorAll('.flame')];
    const box = word => [...seen.find(flame => flame.offsetHeight).querySelectorAll('b')].find(
      each => each.textContent.startsWith(word));
    const part = word => box(word) ? Math.round(
      100 * box(word).offsetWidth / box(word).parentElement.offsetWidth) : 0;
    const note = () => found.push(['all', 'load', 'step'].map(part).join(' '));
    note();
    box('load').click(); note();
    box('load').focus(); press('Escape'); box('all').focus(); note();
    for (const key of ['ArrowDown', 'ArrowDown', 'ArrowRight', 'Enter']) press(key);
    note();
    press('Escape');
    for (const view of ['all', 'end']) {
      document.querySelector(`[for=view-${view}]`).click(); note(); }"""
if browser:
    clpool("report resnet.csv.gz -o page.html")
    browse("page.html", CHART, "Events 8,659 to 8,676\nAfter 1\\.\\d* s\nIn use: [\\d.]* GiB to "
           "[\\d.]* GiB\nHeld: [\\d.]* GiB\nIn the pool: 14\\.\\d* GiB\nHits: \\d* of \\d*,none,"
           "Events [^\"]*")
    browse("stacks.html", FLAMES,
           "100 59 41,100 100 0,100 59 41,100 0 100,100 54 46,100 100 0")
print("looked at in", browser)
