# SPDX-License-Identifier: MIT
# A header as Doxygen reads it: each status that begins a line, after a sentence's end, is a @retval.

in_status && /^ \* [^ ]/ { print " *" }
/^ \* [^ ]/ || /\*\// { in_status = 0 }
last ~ /[.:]$/ && /^ \* CLP_[A-Z_]+([:.]| or another )/ {
  in_status = !/\*\//
  match($0, /CLP_[A-Z_]+/)
  last = substr($0, RSTART + RLENGTH)
  sub(/^[:.] ?/, "", last)
  print " * @retval " substr($0, RSTART, RLENGTH) " " last
  next
}
{ print last = $0 }
