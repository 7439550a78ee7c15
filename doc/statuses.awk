# SPDX-License-Identifier: MIT
# A header as Doxygen reads it. A status that begins a line, after the end of a sentence, is a
# @retval; in the comment of a group or a file, an item of a list.

/^\/\*\*/ {
  in_status = 0
  mark = /@(name|file)/ ? "- " : "@retval "
}
last ~ /\.$/ && /^ \* CLP_[A-Z_]+([:.]| or another )/ {
  in_status = 1
  last = $0
  match($0, /CLP_[A-Z_]+/)
  text = substr($0, RSTART + RLENGTH)
  if (mark != "- ")
    sub(/^[:.]/, "", text)
  print " * " mark substr($0, RSTART, RLENGTH) text
  next
}
in_status && last ~ /\.$/ && /^ \* [^ ]/ {
  in_status = 0
  print " *"
}
{ print last = $0 }
