# SPDX-License-Identifier: MIT
# Completion of clpool's commands, options and values in bash, with the package bash-completion and
# without it: source this file.
# shellcheck shell=bash

_clpool_allocators='host simulated cl-deferred cl-immediate cl-svm cuda-async'

# _clpool_options COMMAND: what it takes; those that want a value end in "=".
_clpool_options() {
  case $1 in
    '') echo '--help --version' ;;
    info) echo '--help --json' ;;
    record) echo '--help --output= --stacks -o' ;;
    run) echo '--help --hold= --leading-bits= --limit= --report' ;;
    replay)
      echo '--allocator= --arena --capacity= --compare --device= --help --json' \
        '--leading-bits= --lenient --limit= --no-pool --passes= --scale=' \
        '--reserve= --several-threads --slack= --touch'
      ;;
    report)
      echo '--arena --capacity= --folded= --help --json --leading-bits= --lenient --limit=' \
        '--output= --perfetto= --scale= --slack= -o'
      ;;
    tune)
      echo '--allocator= --cost= --help --json --lenient --limit= --plot= --time= -o'
      ;;
    bench) echo '--allocator= --device= --help --json --output= -o' ;;
  esac
}

# _clpool_values OPTION: the values of an option that has a list of them.
_clpool_values() {
  case $1 in
    --allocator) echo "$_clpool_allocators" ;;
    --cost) echo 'nvidia-h200 pocl-cpu' ;;
    --scale) echo 'auto' ;;
  esac
}

# _clpool_takes_file OPTION
_clpool_takes_file() {
  case $1 in --cost | --folded | --output | --perfetto | --plot | -o) ;; *) return 1 ;; esac
}

# _clpool_takes_value COMMAND OPTION
_clpool_takes_value() {
  [[ $2 == -o || " $(_clpool_options "$1") " == *" $2= "* ]]
}

# _clpool_add COMPGEN-ARGUMENT...: further answers. compopt has nothing to set where a test calls.
_clpool_add() {
  local answer
  while IFS= read -r answer; do
    COMPREPLY+=("$answer")
  done < <(compgen "$@")
}

_clpool_add_files() {
  _clpool_add -f -- "$1"
  compopt -o filenames 2>/dev/null
}

_clpool_add_options() {
  _clpool_add -W "$(_clpool_options "$1")" -- "$2"
  [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
}

_clpool_add_value() {
  _clpool_add -W "$(_clpool_values "$1")" -- "$2"
  if _clpool_takes_file "$1"; then _clpool_add_files "$2"; fi
}

# The word before the cursor to `current`; where it is an option's value, that option to `option`.
# "=" is a word of its own unless COMP_WORDBREAKS was changed.
_clpool_read_word() {
  local before=${COMP_WORDS[COMP_CWORD - 1]}
  current=${COMP_WORDS[COMP_CWORD]}
  if [[ $current == = ]]; then
    option=$before
    current=
  elif [[ $before == = ]]; then
    option=${COMP_WORDS[COMP_CWORD - 2]}
  elif [[ $current == --*=* ]]; then
    option=${current%%=*}
    current=${current#*=}
    prefix=$option=
  elif [[ $COMP_CWORD -gt 2 ]] && _clpool_takes_value "$command" "$before"; then
    option=$before
  fi
}

_clpool() {
  local command='' current option='' prefix='' i
  local commands='info record run replay report tune bench help'
  COMPREPLY=()
  [[ $COMP_CWORD -gt 1 ]] && command=${COMP_WORDS[1]}
  _clpool_read_word
  if [[ $option ]]; then
    _clpool_add_value "$option" "$current"
  elif [[ $current == -* ]]; then
    _clpool_add_options "$command" "$current"
  elif [[ ! $command ]]; then
    _clpool_add -W "$commands" -- "$current"
  elif [[ $command == help && $COMP_CWORD -eq 2 ]]; then
    _clpool_add -W "${commands% help}" -- "$current"
  elif [[ $command == re* || $command == tune ]]; then
    _clpool_add_files "$current"
  fi
  for i in "${!COMPREPLY[@]}"; do
    COMPREPLY[i]=$prefix${COMPREPLY[i]}
  done
}

complete -F _clpool clpool
