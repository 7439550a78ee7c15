# SPDX-License-Identifier: MIT
# Completion of clpool's commands, options and values in bash, with the package bash-completion and
# without it: source this file. The program itself knows the answers.
# shellcheck shell=bash

_clpool() {
  local current=${COMP_WORDS[COMP_CWORD]} prefix='' takes_file='' line
  COMPREPLY=()
  while IFS= read -r line; do
    if [[ $line == :files ]]; then takes_file=yes; else COMPREPLY+=("$line"); fi
  done < <("${COMP_WORDS[0]}" --complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  # compopt has nothing to set where a test calls.
  [[ ${#COMPREPLY[@]} -ne 1 || ${COMPREPLY[0]} != *= ]] || compopt -o nospace 2>/dev/null
  [[ $takes_file ]] || return 0
  # "=" is a word of its own unless COMP_WORDBREAKS was changed.
  [[ $current != -*=* ]] || prefix=${current%%=*}=
  [[ $current != = ]] || current=
  while IFS= read -r line; do
    COMPREPLY+=("$prefix$line")
  done < <(compgen -f -- "${current#"$prefix"}")
  compopt -o filenames 2>/dev/null
  return 0
}

complete -F _clpool clpool
