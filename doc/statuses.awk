# SPDX-License-Identifier: MIT
# A header as Doxygen reads it. A status that begins a line, after the end of a sentence, is a
# @retval; in the comment of a group or a file, an item of a list.

/^\/\*\*/ {
  in_status = 0
  mark = /@(name|file)/ ? "- " : "@retval "
}
last ~ /\.$/ && match($0, /^ \* CLP_[A-Z_]+(, CLP_[A-Z_]+:|[:.]| or another )/) {
  in_status = 1
  last = $0
  if (mark == "@retval ") {
    match($0, /CLP_[A-Z_]+(, CLP_[A-Z_]+)*/)
    names = substr($0, RSTART, RLENGTH)
    text = substr($0, RSTART + RLENGTH)
    gsub(/ /, "", names)
    sub(/^[:.]/, "", text)
    print " * @retval " names text
  } else
    print " * - " substr($0, 4)
  next
}
in_status && last ~ /\.$/ && /^ \* [^ ]/ {
  in_status = 0
  print " * @par"
}
{ print last = $0 }
