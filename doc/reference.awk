# SPDX-License-Identifier: MIT
# A guide as Doxygen reads it, to be used after anchors.awk: its anchors are made, with the guide's
# name before them, since all guides share them there, and links that lead out of the reference
# become text.

function page_of(path)
{
  sub(/.*\//, "", path)
  sub(/\.md$/, "", path)
  return path
}

# A link's or picture's target, as Doxygen has it; "" where it has none.
function target_of(target, is_picture, parts)
{
  if (is_picture) {
    sub(/.*\//, "", target)
    return target
  }
  if (target ~ /^https?:/)
    return target
  split(target, parts, "#")
  if (parts[1] == "")
    return "#" page "-" parts[2]
  if (parts[1] !~ /\.md$/ || parts[1] ~ /(^|\/)(CONTRIBUTING|HACKING|SECURITY|internals)\.md$/)
    return ""
  return parts[2] == "" ? parts[1] : "#" page_of(parts[1]) "-" parts[2]
}

# The line with each [text](target) as it is to be.
function relink(line, done, link, text, target)
{
  done = ""
  while (match(line, /\[[^]]*\]\([^)]*\)/)) {
    link = substr(line, RSTART, RLENGTH)
    text = substr(link, 1, index(link, "](") - 1)
    target = substr(link, index(link, "](") + 2)
    target = target_of(substr(target, 1, length(target) - 1), substr(line, RSTART - 1, 1) == "!")
    done = done substr(line, 1, RSTART - 1) (target == "" ? substr(text, 2) : text "](" target ")")
    line = substr(line, RSTART + RLENGTH)
  }
  return done line
}

FNR == 1 { page = page_of(FILENAME) }
/^```/ { inside = !inside }
inside { print; next }
/^##+ / { print $0 " {#" page "-" anchor($0) "}"; next }
{ print relink($0) }
