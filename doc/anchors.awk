# SPDX-License-Identifier: MIT
# The anchor of a heading in Markdown, as GitHub makes it: "## 1. How much?" has #1-how-much.

function anchor(heading)
{
  sub(/^#+ +/, "", heading)
  heading = tolower(heading)
  gsub(/[^a-z0-9 _-]/, "", heading)
  gsub(/ /, "-", heading)
  return heading
}
