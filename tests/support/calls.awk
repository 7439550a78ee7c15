# SPDX-License-Identifier: MIT
# Reads `nm -A --format=posix` of the library's objects, their names already those of the sources,
# and checks who refers to whom. A file belongs to a room, by its folder; rooms of lib/core stand on
# one another in the order below, and arena, hooks, host, opencl and cuda on lib/core, not on each
# other.
# What a lower room needs of a higher one comes as a table of functions, which is data: that is the
# only reference upwards that is allowed. No two files of lib/core, lib/arena or layer lead to each
# other by calls.

BEGIN {
  rooms = split("base allocator streams store shard hooks pool", name, " ")
  for (i = 1; i <= rooms; i++)
    floor["core/" name[i]] = i
  split("arena hooks host opencl cuda", name, " ")
  for (i = 1; i <= 5; i++)
    floor[name[i]] = rooms + 1
  floor["layer"] = rooms + 2
}

{
  sub(/:$/, "", $1)
  files[$1]
}

$3 ~ /^[A-TV-Zuw]$/ {
  home[$2] = $1
  is_data[$2] = $3 ~ /[BDRSV]/
}

$3 == "U" { needed[$1] = needed[$1] " " $2 }

END {
  for (file in files)
    check_file(file)
  for (file in files)
    find_reached(file, file)
  for (file in files)
    check_circles(file)
  if (references == 0) {
    print "no references were found"
    exit 1
  }
  printf "%d references between files, %d against the rules\n", references, broken
  exit broken > 0
}

function check_file(file,   symbols, count, i, to) {
  count = split(needed[file], symbols, " ")
  for (i = 1; i <= count; i++) {
    to = home[symbols[i]]
    if (to == "" || to == file)
      continue
    references++
    if (!is_data[symbols[i]])
      calls[file] = calls[file] " " to
    if (!may_call(room_of(file), room_of(to)) && !is_data[symbols[i]]) {
      printf "%s must not call %s of %s\n", file, symbols[i], to
      broken++
    }
  }
}

function may_call(from, to) {
  return from == to || floor[to] < floor[from]
}

function room_of(file,   part) {
  split(file, part, "/")
  if (part[1] == "layer")
    return "layer"
  return part[2] == "core" ? "core/" part[3] : part[2]
}

function find_reached(start, file,   to, count, i) {
  count = split(calls[file], to, " ")
  for (i = 1; i <= count; i++)
    if (!((start, to[i]) in reached)) {
      reached[start, to[i]]
      find_reached(start, to[i])
    }
}

function check_circles(file,   other) {
  if (file !~ /^(lib\/(core|arena)|layer)\//)
    return
  for (other in files)
    if (file < other && (file, other) in reached && (other, file) in reached) {
      printf "%s and %s call each other\n", file, other
      broken++
    }
}
