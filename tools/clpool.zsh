#compdef clpool
# SPDX-License-Identifier: MIT
# Completion of clpool's commands, options and values in zsh, as the file _clpool of a directory in
# fpath. The program itself knows the answers.

local -a answers
answers=("${(@f)$("${words[1]}" --complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
compadd -S '' -- ${(M)answers:#*=}
compadd -- ${answers:#(*=|:files)}
if (( ${answers[(I):files]} )); then
  compset -P '-*='
  _files
fi
