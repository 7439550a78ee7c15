# SPDX-License-Identifier: MIT
# The public headers as pages of section 3, one for each header, function and type, for `man
# clp_pool_allocate`: make man3. It reads what the headers are written in: a comment that begins
# with two stars, and the declaration after it; @file, and @name to @{ and @} around a group.
#
#   awk -v folder=man3 -v date=2026-11-23 -v version=0.2.0 -f doc/man3.awk clpool/pool.h ...

# --- Text -----------------------------------------------------------------------------------------

# What roff would take for its own.
function escape(text) {
  gsub(/\\/, "\\e", text)
  if (text ~ /^[.']/)
    text = "\\&" text
  return text
}

# As it stands, for code: a hyphen is the character that programs have.
function literal(text) {
  text = escape(text)
  gsub(/-/, "\\-", text)
  return text
}

function trim(text) {
  gsub(/^[ \t\n]+|[ \t\n]+$/, "", text)
  return text
}

# clpool's names in a text stay whole, and those that have pages are bold.
function bold_names(text,    out, name) {
  out = ""
  while (match(text, /(clp|CLP)_[A-Za-z_]*[A-Za-z]/)) {
    name = "\\%" substr(text, RSTART, RLENGTH)
    out = out substr(text, 1, RSTART - 1) (name ~ /clp_/ ? "\\fB" name "\\fR" : name)
    text = substr(text, RSTART + RLENGTH)
  }
  return out text
}

# What is between backticks.
function code_words(text,    parts, count, i, out) {
  count = split(text, parts, "`")
  out = bold_names(parts[1])
  for (i = 2; i <= count; i++)
    out = out (i % 2 ? bold_names(parts[i]) : "\\fB" parts[i] "\\fR")
  return out
}

# What comes before the first of these marks, on one line: what apropos shows.
function summary_of(text, marks,    sentence) {
  sentence = text
  sub(/\n\n.*/, "", sentence)
  gsub(/[ \n]+/, " ", sentence)
  sentence = trim(sentence)
  if (match(sentence, "[" marks "] "))
    sentence = substr(sentence, 1, RSTART)
  sub(/[.:;]$/, "", sentence)
  gsub(/`/, "", sentence)
  return sentence
}

# print_text(TEXT): paragraphs, lists, statuses on lines of their own, and what is indented or a
# table as it stands.
function print_text(text,    lines, count, i, line, is_code, was_blank) {
  count = split(text, lines, "\n")
  is_code = 0
  was_blank = 1
  for (i = 1; i <= count; i++) {
    line = lines[i]
    if (line == "") {
      was_blank = 1
      continue
    }
    if (is_code && line !~ /^(  |\|)/) {
      is_code = 0
      print ".EE" >page
      was_blank = 1
    }
    if (!is_code && (line ~ /^\|/ || was_blank && line ~ /^  /)) {
      is_code = 1
      print ".PP\n.EX" >page
    } else if (is_code && was_blank)
      print "" >page
    if (is_code) {
      print literal(line) >page
    } else {
      if (line ~ /^- /)
        print ".IP \\(bu 2" >page
      else if (was_blank)
        print ".PP" >page
      else if (line ~ /^CLP_[A-Z_]+([:.]| or another)/)
        print ".br" >page
      sub(/^(- | +)/, "", line)
      print code_words(escape(line)) >page
    }
    was_blank = 0
  }
  if (is_code)
    print ".EE" >page
}

# --- Pages ----------------------------------------------------------------------------------------

function begin_page(name, summary) {
  page = folder "/" name ".3"
  printf ".\\\" Made of clpool/%s by doc/man3.awk\n", header >page
  printf ".TH %s 3 \"%s\" \"clpool %s\" \"clpool\"\n", literal(name), date, version >page
  printf ".SH NAME\n%s \\- %s\n", literal(name), escape(summary) >page
  printf ".SH SYNOPSIS\n.ad l\n.EX\n.B #include <clpool/%s>\n", header >page
}

function end_page(others) {
  print ".SH SEE ALSO" >page
  if (others != "")
    printf ".BR %s (3),\n", literal(others) >page
  print ".BR clpool (1)" >page
  close(page)
}

# A prototype, broken between arguments.
function print_prototype(text,    out, words, count, i, line) {
  count = split(text, words, ", ")
  line = words[1]
  for (i = 2; i <= count; i++) {
    if (length(line) + length(words[i]) > 68) {
      print literal(line ",") >page
      line = "    " words[i]
    } else
      line = line ", " words[i]
  }
  print literal(line) >page
}

# The fields of a struct or the enumerators, each with its comment, before it or behind.
function print_members(body, end,    comment, at, declaration) {
  while ((body = trim(body)) != "") {
    comment = ""
    if (body ~ /^\/\*\*/) {
      at = index(body, "*/")
      comment = substr(body, 4, at - 4)
      body = trim(substr(body, at + 2))
    }
    at = index(body, end)
    if (match(body, /\/\*\*</) && (at == 0 || RSTART < at))
      at = RSTART # the last enumerator has no comma
    declaration = at ? substr(body, 1, at - 1) : body
    body = at ? trim(substr(body, at + (substr(body, at, 1) == end))) : ""
    if (body ~ /^\/\*\*</) {
      at = index(body, "*/")
      comment = substr(body, 5, at - 5)
      body = substr(body, at + 2)
    }
    gsub(/[ \n]+/, " ", declaration)
    gsub(/\n *\*? */, "\n", comment)
    printf ".TP\n.B %s\n", literal(trim(declaration)) >page
    print code_words(escape(trim(comment))) >page
  }
}

# One that has a page: a function, a type. Remembers it for the header's.
function add_page(name, declaration, text) {
  listed[++items] = name
  summaries[items] = summary_of(text, ".:;")
  begin_page(name, summaries[items])
  print "" >page
  if (declaration ~ /\{/ && declaration !~ /_MAP\(/) {
    printf "%s;\n.EE\n.SH DESCRIPTION\n", literal(kind_of(declaration) " { ... } " name) >page
    print_text(text)
    print ".SS Members" >page
    print_members(body_of(declaration), declaration ~ /^typedef enum/ ? "," : ";")
  } else {
    print_prototype(declaration)
    print ".EE\n.SH DESCRIPTION" >page
    print_text(text)
  }
  if (group != "") {
    printf ".SS %s\n", escape(group) >page
    print_text(group_text)
  }
  end_page(header_page(stem))
}

function header_page(stem) {
  return stem == "clpool" ? stem : "clpool-" stem
}

# What is between the braces.
function body_of(declaration) {
  match(declaration, /\{.*\}/)
  return substr(declaration, RSTART + 1, RLENGTH - 2)
}

function kind_of(declaration) {
  return declaration ~ /^typedef enum/ ? "typedef enum" : "typedef struct"
}

# The header's own page: its text, what has pages, and macros and constants as they stand.
function finish_header(    i) {
  if (header == "")
    return
  begin_page(header_page(stem), file_summary)
  print ".EE\n.SH DESCRIPTION" >page
  print_text(file_text)
  if (items)
    print ".SH FUNCTIONS AND TYPES" >page
  for (i = 1; i <= items; i++)
    printf ".TP\n.BR %s (3)\n%s\n", literal(listed[i]), code_words(escape(summaries[i])) >page
  if (constants)
    print ".SH CONSTANTS" >page
  for (i = 1; i <= constants; i++) {
    print ".PP" >page
    print code_words(escape(constant_text[i])) >page
    if (constant_code[i] ~ /^enum/)
      print_members(body_of(constant_code[i]), ",")
    else
      printf ".PP\n.EX\n%s\n.EE\n", constant_code[i] >page
  }
  end_page(stem == "clpool" ? "" : "clpool")
}

function add_constant(declaration, text,    lines, count, i) {
  constant_text[++constants] = text
  constant_code[constants] = ""
  if (declaration ~ /^enum/) {
    constant_code[constants] = declaration
    return
  }
  count = split(declaration, lines, "\n")
  for (i = 1; i <= count; i++) {
    sub(/ *\\$/, i < count ? " \\" : "", lines[i])
    constant_code[constants] = constant_code[constants] (i > 1 ? "\n" : "") literal(lines[i])
  }
}

# --- Headers --------------------------------------------------------------------------------------

function take_declaration(declaration,    name, flat) {
  flat = declaration
  gsub(/[ \n]+/, " ", flat)
  if (declaration ~ /^#define/ || declaration ~ /^enum/) {
    add_constant(declaration, comment)
    return
  }
  name = flat
  if (flat ~ /^typedef .*\(\*clp_/)
    sub(/^[^(]*\(\*/, "", name)
  else if (flat ~ /^struct/)
    sub(/^struct /, "", name)
  else if (flat ~ /^typedef/)
    sub(/.*[ *]/, "", name)
  else
    sub(/^[^(]*[ *]clp_/, "clp_", name)
  sub(/[ ();].*/, "", name)
  add_page(name, flat ~ /^(typedef|struct).*\{/ ? declaration : flat, comment)
}

function take_comment(text) {
  text = trim_ends(text)
  if (text ~ /^@file/) {
    sub(/^@file\n?/, "", text)
    sub(/^clpool\/[a-z_]*\.h - /, "", text)
    file_text = capital(text)
    file_summary = summary_of(text, ".")
  } else if (text ~ /^@name/) {
    group = text
    sub(/^@name /, "", group)
    group_text = group
    sub(/\n.*/, "", group)
    if (!sub(/^[^\n]*\n/, "", group_text))
      group_text = ""
    sub(/ *@\{$/, "", group_text)
  } else if (text ~ /^@\}/) {
    group = ""
  } else {
    comment = text
    is_pending = 1
  }
}

function trim_ends(text) {
  sub(/^\n+/, "", text)
  sub(/[ \n]+$/, "", text)
  return text
}

function capital(text) {
  return toupper(substr(text, 1, 1)) substr(text, 2)
}

FNR == 1 {
  finish_header()
  header = FILENAME
  sub(/.*\//, "", header)
  stem = header
  sub(/\.h$/, "", stem)
  items = constants = inside = is_pending = is_open = 0
  group = comment = file_text = file_summary = declaration = ""
}

# Inside of a struct, comments are its members'.
!is_open && /^\/\*\*/ {
  inside = 1
  text = ""
  sub(/^\/\*\* ?/, "")
}
inside {
  is_last = sub(/ *\*\/$/, "")
  sub(/^ \* ?/, "")
  text = text $0 "\n"
  if (is_last) {
    inside = 0
    take_comment(text)
  }
  next
}
is_pending {
  declaration = is_open ? declaration "\n" $0 : $0
  is_open = 1
  if (declaration ~ /^#define/ ? !/\\$/ : declaration ~ /\{/ ? /^typedef.*\}.*;$/ || /^\}/ : /;$/) {
    is_open = is_pending = 0
    take_declaration(declaration)
  }
}
END { finish_header() }
