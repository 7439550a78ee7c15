#!/bin/sh
# SPDX-License-Identifier: MIT
# clpool check: each planted error is found, with its lines of C and of Python; programs that are
# right do the same as without the layer, and no error is found.
command=check layer=check
# shellcheck source=layer.sh
. "${top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}/tests/layer/layer.sh"

# make_of TABLE FILE BEFORE AFTER: a program, whose lines are where the table has them.
make_of() {
  table=$top_srcdir/tests/layer/$1 file=$2
  awk -F'[|]' -v before="$3" -v after="$4" \
    'sub(/^== /, "") { print before $1 after; next } { print }' "$table" >"$file"
}

# finds_each PROGRAM...: the program has the errors of the table that it was made of.
finds_each() {
  sed -n 's/^== //p' "$table" >cases
  while IFS='|' read -r name options kind message; do
    # shellcheck disable=SC2086 # none, or one
    clpool 66 check $options --json=errors.json "$@" "$name"
    lines=$(grep -c "^{\"kind\": \"$kind\", \"text\": \[\"clpool check: .*$file:" errors.json) || :
    [ "$lines $(tail -n 1 err)" = "1 clpool check: 1 error: 1 $kind" ] ||
      fail "$name: $(cat all errors.json)"
    grep -qF "clpool check: $message" err || fail "$name: not \"$message\": $(cat all)"
    awk '/^    / { if ($2 == "at") { label = $1; sub(/.* at +/, "") } print label, $1, $2 }' \
      all >found
    awk -v name="$name" 'sub(/^== /, "") { is_it = index($0, name "|") == 1 }
      is_it && sub(/( [*]\/)?$/, "") && /[*#] [a-z]+$/ { print $NF, NR }' "$table" >wanted
    while read -r label number; do
      grep -q "^$label .*$file:$number $name\$" found ||
        fail "$name: not $label at line $number: $(cat all)"
    done <wanted
  done <cases
}

make_of wrong.txt wröng.c 'void ' '(void)'
# shellcheck disable=SC2016,SC2086 # for the shell that is run; a list of words
if ! grep -q '^#define HAVE_LIBDW 1' "$builddir/config.h"; then
  echo 'not tried: C, whose lines are not known without libdw'
elif $CC ${CLP_SANITIZER_FLAGS-} -I"$top_srcdir/tests" -DCL_TARGET_OPENCL_VERSION=210 -g -O0 \
  -rdynamic -w -o wrong wröng.c -lOpenCL -ldl 2>err; then
  finds_each ./wrong
  # Errors are left out, and exit codes are set, as the options say.
  clpool 5 check --error-exit=5 ./wrong leaks
  grep -qx 'clpool check: 2 errors: 2 leak' err || fail "leaks of two lines: $(cat all)"
  clpool 0 check ./wrong right
  says "$line"
  clpool 3 check sh -c './wrong leak; exit 3'
  clpool 0 check --error-exit=0 ./wrong leak
  printf '# a comment\n*main*\n' >suppressions
  clpool 0 check --suppressions=suppressions sh -c 'cd / && exec "$0" leak' "$PWD/wrong"
  says "clpool check: 1 suppressed
$line"
else
  echo "not tried: C: $(head -n 1 err)"
fi

make_of wrong-python.txt wrong.py 'def ' '():'
echo 'globals()[sys.argv[1]]()' >>wrong.py
for python in python3 "$builddir/python-venv/bin/python"; do
  [ "${clp_sanitized:-no}" = yes ] || ! "$python" -c 'import pyopencl' 2>/dev/null || break
  python=
done
if [ "$python" ]; then finds_each "$python" wrong.py; else echo 'not tried: PyOpenCL'; fi

for part in threads phases kinds; do ! same '--no-leaks --every=1' $part || says "$line"; done
# Random calls, of which some are wrong, are right otherwise.
for threads in 0 2; do
  ! same '--error-exit=0' calls 1 20 $threads ||
    [ -z "$(sed 's/^clpool check: [0-9]* errors: [0-9]* wrong-call$//; $!d' err)" ] ||
    fail "random calls: $(cat all)"
done
refuses
