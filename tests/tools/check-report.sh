#!/bin/sh
# SPDX-License-Identifier: MIT
# clpool report: the page, its figures and its looks in a browser, the counters, and that no part of
# a file is ever left behind.
# shellcheck source=../support/house.sh
. "${top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}/tests/support/house.sh"
set -eu

command=report
# shellcheck source=../support/command.sh
. "$top_srcdir/tests/support/command.sh"
header=Thread,Time,Action,Pointer,Size,Stream
page_bytes=200000 # a page of any trace has fewer

# The folder has these files and no others: only NAME...
only() {
  for name; do echo "$name"; done | sort >"$house_tmp/wanted"
  find . -mindepth 1 | sed 's|^\./||' | sort >"$house_tmp/found"
  cmp -s "$house_tmp/wanted" "$house_tmp/found" ||
    fail "there is $(tr '\n' ' ' <"$house_tmp/found")"
}

has_python=no
python3 -c 'import json, xml.etree.ElementTree, zlib' 2>/dev/null && has_python=yes

# check SCRIPT ARGUMENT...: runs a checker of tests/support, if there is Python.
check() {
  [ $has_python = yes ] || return 0
  script=$1
  shift
  python3 "$top_srcdir/tests/support/$script" "$@" || fail "$script $* finds fault"
}

# --- Arguments

refuses 2 'the trace is missing (see clpool report --help)' -o a.html
refuses 2 'one trace at a time, but there is "b", too' a b
refuses 2 'where does the report go? Name -o FILE.html, --perfetto=FILE, --folded=FILE or --json' a
words='only one output can have standard output'
refuses 2 "$words" a -o - --json
refuses 2 "$words" a -o - --perfetto=-
refuses 2 "$words" a --folded=- --perfetto=-
refuses 2 "$words" a -o /dev/stdout --json
refuses 2 "$words" a -o /dev/stdout --perfetto=-
refuses 2 '-o: the page is HTML, which browsers print as PDF: name FILE.html' a -o x.pdf
refuses 2 '-o: the page is HTML, which browsers print as PDF: name FILE.html' a -o x.PDF
refuses 2 '--output and --perfetto name the same file, "b"' a -o b --perfetto=b
refuses 2 '--output and --perfetto name the same file, "b"' a -o b --perfetto=./b
ln -s b link
refuses 2 '--output and --perfetto name the same file, "link"' a -o link --perfetto=b
echo before >b
refuses 2 '--output and --perfetto name the same file, "link"' a -o link --perfetto="$PWD/b"
rm b link
refuses 2 '--folded and --perfetto name the same file, "b"' a --perfetto=b --folded=b
refuses 2 '--leading-bits: expected a number from 0 to 16, found "17"' a --leading-bits=17
refuses 2 '--limit: expected bytes, such as 1073741824, 512M or 1.5GiB, found "5MB"' a --limit=5MB
refuses 2 '--arena: expected a number from 0 to 1, found "2"' a --json --arena=2

# Sizes: what each comes to.
limits='0:0 7:7 2.9K:2969 0.1K:102 1.5K:1536 1.5G:1610612736 0.3KiB:307 4GiB:4294967296
  1T:1099511627776 0.25TiB:274877906944 16777215.5T:18446743523953737728
  18446744073709551615:18446744073709551615'
printf '%s\n' Action,Pointer,Size 'allocate,(nil),0' >none.csv
for limit in $limits; do
  accepts none.csv --json --limit="${limit%:*}"
  grep -q "\"limit\": ${limit#*:},\$" "$out" || fail "--limit=${limit%:*}: $(grep limit "$out")"
done
words="expected bytes, because the device's memory is unknown here, found \"40%\""
refuses 2 "--limit: $words" none.csv --json --limit=40%
rm none.csv
accepts --help
grep -q '^Usage: clpool report' "$out" || fail "--help prints $(cat "$out")"

# --- Traces that cannot be read leave nothing

refuses 2 'missing.csv: No such file or directory' missing.csv -o page.html
only
printf '%s\n1,00:00:00.000000,allocate,0x1,-5,0\n' $header >bad.csv
words='expected a size in bytes, a decimal number of at most 64 bits, found "-5"'
refuses 2 "bad.csv:2:32: $words" \
  bad.csv -o page.html --perfetto counters.json
only bad.csv
refuses 2 '--output names the trace itself, "./bad.csv"' bad.csv -o ./bad.csv
ln -s bad.csv link.csv
refuses 2 '--perfetto names the trace itself, "link.csv"' bad.csv --perfetto=link.csv
rm link.csv
cp bad.csv found
code=0
"$clpool" report - -o ./bad.csv <bad.csv 2>"$err" || code=$?
[ $code -eq 2 ] || fail "the trace as input and output: exit code $code"
[ "$(cat "$err")" = 'clpool report: --output names the trace itself, "./bad.csv"' ] ||
  fail "the trace as input and output: said $(cat "$err")"
cmp -s bad.csv found || fail "the trace that was standard input is overwritten"
rm bad.csv found
# --- The page and its figures

# The figures of a report are those of a replay: same ARGUMENT...
same_as_replay() {
  "$clpool" replay "$resnet" --json "$@" |
    grep -vE '"(ns_per_operation|device|pooled|passes|scale|first_failure_event)":|^[{}]' |
    sed 's/,$//' >"$house_tmp/replayed"
  [ -s "$house_tmp/replayed" ] || fail "no figures of a replay"
  while read -r line; do
    grep -qF -- "  $line" "$out" || fail "report $* lacks $line"
  done <"$house_tmp/replayed"
}

# What a page must be, whatever the trace: sound PAGE
sound() {
  [ "$(head -n 1 "$1")" = '<!DOCTYPE html>' ] || fail "$1 does not begin as HTML"
  [ "$(tail -n 1 "$1")" = '</html>' ] || fail "$1 does not end as HTML"
  ! grep -niE 'https?:|src=|href=|@import|url\(' "$1" || fail "$1 refers to something outside"
  [ "$(wc -c <"$1")" -lt $page_bytes ] || fail "$1 has $(wc -c <"$1") bytes"
  if command -v xmllint >/dev/null; then
    xmllint --noout "$1" || fail "$1 is no well-formed XML"
  fi
}

for options in '' --leading-bits=1 '--limit=2G' --arena \
  '--arena=0.1 --leading-bits=6 --limit=3.3G'; do
  # shellcheck disable=SC2086 # these are several
  set -- $options
  accepts "$resnet" -o page.html --perfetto=counters.json --json "$@"
  same_as_replay "$@"
  only page.html counters.json
  sound page.html
  check report_page.py page.html "$out"
  check perfetto.py counters.json "$out"
done
accepts "$resnet" -o -
grep -q '>The program had at most ' "$out" || fail "the page does not say what was in use"
accepts "$resnet" -o - --limit=2G
[ "$(grep -c 'limit 2.00 GiB' "$out")" -eq 1 ] || fail "the limit is not drawn"
grep -q 'without <b>180</b> of its 1,430 allocations, which were refused. A pool' "$out" ||
  fail "the page is silent on refusals"
says 'Next: raise the limit, or let <code>clpool tune '

accepts "$resnet" -o page.html
mv page.html expected.html
accepts "$resnet" -o - --leading-bits=4
cmp -s "$out" expected.html || fail "-o - writes another page"
gunzip -c "$resnet" >plain.csv
"$clpool" report - --output=page.html <plain.csv || fail "no report on standard input"
sed 's/standard input/TRACE/g; s/clpool tune -/clpool tune TRACE/' page.html >found
sed "s|$resnet|TRACE|; s|${resnet##*/}|TRACE|g" \
  expected.html >wanted
cmp -s found wanted || fail "standard input gives another page"
accepts "$resnet" --perfetto=-
mv "$out" counters.json
accepts "$resnet" --json
check perfetto.py counters.json "$out"
rm ./*

# Pools by name, hostile ones too.
printf '%s\n' "$header,Pool" '1,00:00:00.0,allocate,0x1,1000,0,weights' \
  '1,00:00:00.1,allocate,0x2,3000,0,"<b> & ""c"", d"' '1,00:00:00.2,free,0x1,1000,0,weights' \
  '1,00:00:00.3,allocate,0x1,10,0,' '1,00:00:00.4,allocate,0x3,900,0,weights' >named.csv
accepts named.csv -o page.html --json
sound page.html
check report_page.py page.html "$out"
tr -d '\n ' <"$out" |
  grep -qF '"name":"<b>&\"c\",d","kind":null,"peak_active_bytes":3000,' ||
  fail "other pools: $(cat "$out")"
for words in '>weights<' '>&lt;b&gt; &amp; &quot;c&quot;, d<' '>pools without a name<' \
  '3 pools with 4 leading bits take '; do
  grep -qF "$words" page.html || fail "the page lacks $words"
done
! grep -q 'Memory by kind' page.html || fail "there are kinds that the trace does not tell"
rm named.csv page.html

# Kinds of memory.
cat >kinds.csv <<'END'
Action,Kind,Context,Pointer,Size
allocate,buffer,1,0x1,1000
allocate,image,1,0x2,1000
free,buffer,1,0x1,1000
allocate,image,1,0x3,5000
END
accepts kinds.csv -o page.html --json
sound page.html
check report_page.py page.html "$out"
for words in '>context 0x1</th><td>buffer</td>' '>context 0x1</th><td>image</td>' '<td>image</td>' \
  '>buffer</th><td>1</td><td>1000 bytes</td><td>0 bytes</td><td>0 bytes</td>' \
  '>image</th><td>2</td><td>5.86 KiB</td><td>5.86 KiB</td><td>5.86 KiB</td>'; do
  grep -qF "$words" page.html || fail "the page lacks $words"
done
rm kinds.csv page.html

# Names that HTML must escape: markup, quotes, control characters, UTF-8 and what is none.
name=$(printf 'a<b>&"'\''\001\303\244\377.csv')
if printf '%s\n1,00:00:00.0,allocate,0x1,100,0\n' $header >"$name" 2>/dev/null; then
  accepts "$name" -o page.html --perfetto=counters.json --json
  sound page.html
  check report_page.py page.html "$out"
  escaped=$(printf 'a&lt;b&gt;&amp;&quot;&#39;&#xfffd;\303\244&#xfffd;.csv')
  [ "$(grep -cF "$escaped" page.html)" -ge 3 ] || fail "the name is not escaped"
  rm ./*
fi
name=$(printf 'a\357\277\276b\357\277\277c\357\277\275.csv') # U+FFFE, U+FFFF, U+FFFD
printf '%s\n1,00:00:00.0,allocate,0x1,1048575,0\n' $header >"$name"
accepts "$name" -o page.html --leading-bits=16
sound page.html
grep -q "$(printf 'a&#xfffd;b&#xfffd;c\357\277\275.csv')" page.html ||
  fail "what is no XML is in the page"
# Sizes are rounded before their unit is chosen.
if grep -q '1024\.00' page.html || ! grep -q '1\.00 MiB' page.html; then
  fail "a byte less than 1 MiB is not shown as 1.00 MiB"
fi
rm ./*

# No rows, no bytes, no time that passes.
printf '%s\n' $header '1,00:00:00.0,allocate failure,(nil),10,0' >empty.csv
words='no allocation is recorded there, so there is nothing to report'
refuses 1 "empty.csv: $words" empty.csv -o page.html --perfetto=counters.json
[ "$(ls)" = empty.csv ] || fail "there is a report of nothing: $(ls)"
printf '%s\n1,00:00:00.0,allocate,(nil),0,0\n' $header >empty.csv
accepts empty.csv -o page.html --perfetto=counters.json
[ $has_python = no ] || python3 -m json.tool counters.json >/dev/null || fail "no JSON of nothing"
grep -q 'No memory was allocated' page.html || fail "no bytes have something to see"
printf '%s\n1,00:00:00.0,allocate,0x1,1000,0\n' $header >empty.csv
accepts empty.csv -o page.html --limit=10
sound page.html
grep -q 'No memory was allocated. The pool refused 1 allocation.<' page.html ||
  fail "the page is silent on refusals where there is nothing else"
rm ./*

# At its largest, the pool has one bin; it has two in all.
printf '%s\n%s\n%s\n%s\n' $header 1,00:00:00.0,allocate,0x1,1000,0 \
  1,00:00:00.0,free,0x1,1000,0 1,00:00:00.0,allocate,0x2,2097000,0 >bins.csv
accepts bins.csv -o page.html --limit=2097500 --leading-bits=16
grep -q 'At event 3 the pool had 2.00 MiB, in 1 bin\.' page.html ||
  fail "bins at the peak: $(grep 'the pool had' page.html)"
rm ./*

# A trace through midnight, on two threads, the second of which is late.
printf '%s\n%s\n%s\n%s\n%s\n' $header 1,23:59:59.500000,allocate,0x1,1000,0x7 \
  2,00:00:00.500000,allocate,0x2,5000,0 1,00:00:00.250000,free,0x1,1000,0x7 \
  2,00:00:02.000000,free,0x2,5000,0 >midnight.csv
accepts midnight.csv -o page.html --perfetto=counters.json --json
check report_page.py page.html "$out"
check perfetto.py counters.json "$out"
grep -q '^  "seconds": 2.5,' "$out" || fail "midnight: $(grep seconds "$out")"
grep -q '4 events in 2.5 s' page.html || fail "midnight is not passed"
[ "$(grep -c '"ts":1000000\.000' counters.json)" -ge 2 ] || fail "the late thread's time goes back"
rm ./*

# A long trace is thinned: the counters of ten million events would fill a disk.
{
  echo Action,Pointer,Size
  awk 'BEGIN { for (i = 0; i < 100000; i++) printf "allocate,0x1,%d\nfree,0x1,%d\n", i, i }'
} >long.csv
accepts long.csv --perfetto=counters.json --json
check perfetto.py counters.json "$out"
[ "$(wc -l <counters.json)" -lt 70000 ] || fail "$(wc -l <counters.json) counters of 200,000 events"
rm ./*

# --- Who allocated

# The most, 1700 bytes, are in use after the third allocation; 1000 of them are to the end.
cat >stacks.csv <<'END'
Action,Pointer,Size,Stack
#frame 1 0 /x/<app>.py:10:<module>
#frame 2 1 /x/<app>.py:6:load
allocate,0x1,1000,2
#frame 3 1 /x/<app>.py:7:step
#frame 4 3 inner
allocate,0x2,500,4
allocate,0x3,200,3
free,0x2,500,0
free,0x3,200,0
allocate,0x4,150,4
free,0x4,150,0
END
accepts stacks.csv --folded=-
cat >expected <<'END'
/x/<app>.py:10:<module>;/x/<app>.py:6:load 1000
/x/<app>.py:10:<module>;/x/<app>.py:7:step 200
/x/<app>.py:10:<module>;/x/<app>.py:7:step;inner 500
END
cmp -s "$out" expected || fail "--folded: $(cat "$out")"
accepts stacks.csv --json -o page.html --folded=folded
check report_page.py page.html "$out"
cmp -s folded expected || fail "--folded with -o: $(cat folded)"
sound page.html
tr -d '\n ' <"$out" | grep -qF '"from":["inner","/x/<app>.py:7:step","/x/<app>.py:10:<module>"]' ||
  fail "--json: $(grep -A 4 from "$out")"
words='<b>58.8 %</b> of what was in use came from <code>&lt;app&gt;.py:6:load</code>'
grep -qF "$words" page.html ||
  fail "the verdict: $(grep verdict page.html)"
for words in 'in use at the peak' 'in use at the end' 'allocated in all' \
  "data-in='/x/'>step &lt;app&gt;.py:7</b>" "data-b='650' data-in=''>inner</b>"; do
  grep -qF "$words" page.html || fail "the page lacks $words"
done
mv stacks.csv page.html "$house_tmp"
sed '/^#/d; s/,[0-9]*$//; s/,Stack$//' "$house_tmp/stacks.csv" >plain.csv
refuses 2 'plain.csv has no stacks: clpool record --stacks and CLPOOL_TRACE_STACKS=1 record them' \
  plain.csv --folded=folded
accepts plain.csv -o page.html
grep -qF '<code>clpool record --stacks</code>' page.html || fail "the page does not tell of stacks"
printf '%s\n' 'Action,Pointer,Size,Stack' '#frame 1 0 a.py:1:f' '#frame 2 0 b.py:2:g' \
  'allocate,0x1,500,1' 'allocate,0x2,500,2' >half.csv
accepts half.csv -o -
says '<b>50.0 %</b> of what was in use came from <code>a.py:1:f</code>'
rm ./*

# What is wrong with a frame is told where it stands, and its program may have been killed there.
printf '%s\n' 'Action,Pointer,Size,Stack' '#frame 2 0 a' >bad.csv
words='the number after that of the frame before, and a caller above'
refuses 2 "bad.csv:2:8: expected $words, found \"#frame 2 0 a\"" bad.csv -o page.html
printf '%s\n' 'Action,Pointer,Size,Stack' 'allocate,0x1,5,1' >bad.csv
refuses 2 'bad.csv:2:16: expected a frame that is defined above, found 1' bad.csv -o page.html
printf '%s\n%s\n%s' 'Action,Pointer,Size,Stack' 'allocate,0x1,5,0' '#frame 1 0 /usr/bi' >bad.csv
run 0 bad.csv --json
[ "$(cat "$err")" = "clpool report: remark: bad.csv: line 3, the last one, has no end and is left \
out" ] || fail "a frame that was cut: said $(cat "$err")"
rm ./*

# --- Files appear whole or not at all

refuses 1 'cannot write to no/page.html: No such file or directory' "$resnet" -o no/page.html
mkdir folder
refuses 1 'cannot write to folder: Is a directory' "$resnet" -o folder
refuses 1 'cannot write to folder/no/x: No such file or directory' \
  "$resnet" -o page.html --perfetto=folder/no/x
only folder
chmod a-w folder
if ! [ -w folder ]; then
  refuses 1 'cannot write to folder/page.html: Permission denied' "$resnet" -o folder/page.html
  echo mine >page.html
  chmod a-w page.html
  refuses 1 'cannot write to page.html: Permission denied' "$resnet" -o page.html
  [ "$(cat page.html)" = mine ] || fail "a file that must not be written is"
  rm -f page.html
fi
rmdir folder

# full ARGUMENT...: in a shell where files end at a few kilobytes, as on a disk that is full.
full() (
  trap '' XFSZ
  ulimit -f 8
  exec "$clpool" report "$@"
)
for option in -o --perfetto; do
  echo before >old
  code=0
  full "$resnet" $option old 2>"$err" || code=$?
  [ $code -eq 1 ] || fail "$option on a full disk: exit code $code"
  [ "$(cat "$err")" = 'clpool report: cannot write to old: File too large' ] ||
    fail "$option on a full disk: said $(cat "$err")"
  [ "$(cat old)" = before ] || fail "$option on a full disk: the old file is gone"
  only old
  rm old
done
if [ -w /dev/full ]; then
  refuses 1 'cannot write to /dev/full: No space left on device' "$resnet" -o /dev/full
  [ -c /dev/full ] || broken "/dev/full was replaced"
  code=0
  "$clpool" report "$resnet" -o - >/dev/full 2>"$err" || code=$?
  [ $code -eq 1 ] || fail "a full standard output: exit code $code"
fi

# However few files may be open, the file is the old one, or the whole new one.
replaced=0
for most in 4 5 6 7 8 9 10 11 12; do
  echo before >old
  # shellcheck disable=SC3045 # dash and bash have it
  if (ulimit -n $most && exec "$clpool" report "$resnet" -o old) 2>"$err"; then
    sound old
    replaced=$((replaced + 1))
  else
    [ "$(cat old)" = before ] || fail "with $most open files, the old file is gone"
  fi
  only old
done
[ $replaced -gt 0 ] || fail "12 open files are too few: $(cat "$err")"
rm old

# A link stays one, and what it leads to keeps its rights; a new file has the usual ones.
echo before >old
chmod 640 old
ln -s old link
umask 027
accepts "$resnet" -o link --perfetto=new
[ -L link ] || fail "a link was replaced"
sound old
find old -perm 640 | grep -q . || fail "the file's rights have changed"
find new -perm 640 | grep -q . || fail "a new file has other rights than new files"
only old link new
rm ./*
mkdir folder
ln -s folder/new link
accepts "$resnet" -o link
[ -L link ] || fail "a link that leads to nothing yet was replaced"
sound folder/new
only folder folder/new link
rm -r ./*

# A name may be as long as the file system takes it.
long=$(printf '%0255d' 0)
if touch "$long" 2>/dev/null; then
  rm "$long"
  accepts "$resnet" -o "$long"
  sound "$long"
  only "$long"
  rm ./*
fi

# A signal that cannot be caught ends the program in the middle of a trace: the files that it writes
# have no names yet, except where the file system has no such files.
mkfifo pipe
"$clpool" report - -o page.html --perfetto=counters.json <pipe &
reporting=$!
exec 3>pipe
printf '%s\n' $header >&3
written() { find -L /proc/$reporting/fd -type f -links "$1" ! -path '*/[012]' 2>/dev/null | wc -l; }
until [ $(($(written 0) + $(find . -name '.clpool-*' | wc -l))) -eq 2 ]; do
  kill -0 $reporting || fail "the program ended too early"
done
has_unnamed=$(written 0)
kill -KILL $reporting
code=0
wait $reporting 2>/dev/null || code=$?
exec 3>&-
[ $code -gt 128 ] || fail "exit code $code after a signal"
if [ "$has_unnamed" -eq 2 ]; then
  only pipe
else
  echo "not checked without O_TMPFILE: that a signal leaves nothing behind"
  rm .clpool-*
fi
rm pipe

[ $has_python = yes ] || echo "not checked without python3: the structure of the page, the counters"

# --- In a browser

browser=
for program in chromium chromium-browser google-chrome; do
  ! command -v $program >/dev/null || { browser=$program; break; }
done

# browse SCHEME ARGUMENT... PAGE: loads it, 0 dark, 1 light; what the browser logs goes to $err.
browse() {
  scheme=$1
  shift
  timeout 300 "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage \
    --hide-scrollbars --user-data-dir="$house_tmp/browser" --enable-logging=stderr \
    --blink-settings="preferredColorScheme=$scheme" --virtual-time-budget=5000 \
    --window-size=800,900 "$@" >"$out" 2>"$err"
}

# With the browser that is here, a page with an error in its script must be found out.
can_browse() {
  [ -n "$browser" ] || { echo "not looked at: there is no chromium"; return 1; }
  [ $has_python = yes ] || { echo "not looked at: there is no python3"; return 1; }
  echo '<!DOCTYPE html><p>here</p><script>undefined_function()</script>' >broken.html
  : >"$out"
  browse 1 --dump-dom "file://$PWD/broken.html" || :
  grep -q here "$out" || { echo "not looked at: $browser does not run here"; return 1; }
  grep -q CONSOLE "$err" || broken "$browser does not tell errors of scripts"
}

# A picture of the page in a scheme, with many colors and the corner as bright as that:
# looks SCHEME LEAST MOST
looks() {
  rm -f picture.png
  browse "$1" --screenshot=picture.png "file://$PWD/page.html" || fail "$browser: $(cat "$err")"
  ! grep CONSOLE "$err" || fail "the page's script complains"
  [ -s picture.png ] || fail "no picture of the page"
  python3 "$top_srcdir/tests/support/picture.py" picture.png >picture.txt ||
    broken "picture.py cannot read the picture"
  read -r colors brightness <picture.txt
  [ "$colors" -gt 50 ] || fail "the page is blank: $colors colors"
  if [ "$brightness" -lt "$2" ] || [ "$brightness" -gt "$3" ]; then
    fail "scheme $1: the corner's brightness is $brightness"
  fi
}

# Points at the middle of the chart; what is said then is in the page: the figures in the middle.
points() {
  sed 's|^</body>|<script>addEventListener("load", function () {\
    const plot = document.querySelector("svg.plot"), box = plot.getBoundingClientRect();\
    plot.dispatchEvent(new PointerEvent("pointermove", {\
      clientX: box.left + box.width * 0.52, clientY: box.top + box.height / 2}));\
  });</script>&|' page.html >pointed.html
  browse 1 --dump-dom "file://$PWD/pointed.html" || fail "$browser: $(cat "$err")"
  ! grep CONSOLE "$err" || fail "the page's script complains"
  for words in '<div id="tip" role="status" style="left: .*">Events 8,659 to 8,676$' \
    '^After 1\.[0-9]* s$' \
    '^In use: [0-9.]* GiB to [0-9.]* GiB$' '^Held: [0-9.]* GiB$' '^In the pool: 14\.[0-9]* GiB$' \
    '^Hits: [0-9]* of [0-9]*</div>$'; do
    grep -q "$words" "$out" || fail "who points is not told $words: $(grep -A 6 '"tip"' "$out")"
  done
}

# browsed SCRIPT: what $out is when the page has run that, once it was loaded.
browsed() {
  sed "s|^</body>|<script>addEventListener('load', function () { $1 });</script>&|" page.html \
    >browsed.html
  browse 1 --dump-dom "file://$PWD/browsed.html" || fail "$browser: $(cat "$err")"
  ! grep CONSOLE "$err" || fail "the page's script complains"
}

# Without a mouse: three steps to the right by key; a touch, which stays when the finger is gone.
reaches() {
  browsed "const wide = document.querySelector('.wide'); wide.focus(); \
    for (const i of [0, 1, 2]) document.activeElement.dispatchEvent( \
      new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true}));"
  grep -q '>Events 37 to 54$' "$out" || fail "by key: $(grep -A 6 '"tip"' "$out")"
  browsed "const plot = document.querySelector('svg.plot'), box = plot.getBoundingClientRect(); \
    for (const name of ['pointerdown', 'pointerleave']) plot.dispatchEvent( \
      new PointerEvent(name, {pointerType: 'touch', clientY: box.top + 9, \
        clientX: box.left + box.width * 0.52}));"
  grep -q '>Events 8,659 to 8,676$' "$out" || fail "by touch: $(grep -A 6 '"tip"' "$out")"
}

# burns SCRIPT VALUE WANTED: the flame graph of $house_tmp/page.html after a script. box(WORD) is
# the visible box that begins so, part(WORD) how many per cent of the width it has.
burns() {
  cp "$house_tmp/page.html" page.html
  browsed "const seen = [...document.querySelectorAll('.flame')]; \
    const box = word => [...seen.find(flame => flame.offsetHeight).querySelectorAll('b')].find( \
      each => each.textContent.startsWith(word)); \
    const part = word => Math.round( \
      100 * box(word).offsetWidth / box(word).parentElement.offsetWidth); \
    const press = key => document.activeElement.dispatchEvent( \
      new KeyboardEvent('keydown', {key: key, bubbles: true})); \
    $1; document.body.dataset.found = $2;"
  found=$(sed -n 's/.*data-found="\([^"]*\)".*/\1/p' "$out")
  [ "$found" = "$3" ] || fail "the flame graph after \"$1\": $2 is \"$found\", not \"$3\""
}

flames() {
  widths="part('all') + ' ' + part('load') + ' ' + part('step')"
  burns '' "$widths" '100 59 41'
  burns "box('load').click()" "$widths" '100 100 0'
  burns "box('all').focus(); press('ArrowDown'); press('ArrowDown'); press('ArrowRight'); \
press('Enter')" "document.activeElement.textContent.slice(0, 4) + ' ' + $widths" 'step 100 0 100'
  burns "box('step').click(); box('step').focus(); press('Escape')" "$widths" '100 59 41'
  burns "document.querySelector('[for=view-all]').click()" "$widths" '100 54 46'
  burns "document.querySelector('[for=view-end]').click()" "part('load')" 100
}

# As narrow as a phone, the page scrolls down alone: what is wide scrolls by itself.
fits_phone() {
  cat >phone.html <<'END'
<!DOCTYPE html><iframe id="phone" style="width: 360px" src="page.html"></iframe><script>
onload = function () {
  const page = frames[0].document.documentElement;
  document.body.dataset.wide = page.scrollWidth + ' of ' + page.clientWidth;
};</script>
END
  browse 1 --allow-file-access-from-files --dump-dom "file://$PWD/phone.html" ||
    fail "$browser: $(cat "$err")"
  grep -qE 'data-wide="([0-9]+) of \1"' "$out" ||
    fail "a phone scrolls aside: $(grep -o 'data-wide="[^"]*"' "$out")"
}

if can_browse; then
  resnet=$top_srcdir/examples/data/${resnet##*/}
  accepts "$resnet" -o page.html
  looks 1 230 255
  looks 0 0 40
  points
  reaches
  fits_phone
  flames
  fits_phone
  echo "looked at in $browser, light and dark"
fi
