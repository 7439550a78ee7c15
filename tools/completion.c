/* SPDX-License-Identifier: MIT */
/* What may stand at the end of a command line, for the shells' completion. */
#include "cost_source.h"
#include "options.h"

#include <stdio.h>
#include <string.h>

/* Prints an answer if it goes on as the word that is completed, `begin`. What stands before both in
 * one word of the shell's, such as "--allocator=", is `before`. */
static void answer(const char *before, const char *begin, const char *text)
{
  if (strncmp(text, begin, strlen(begin)) == 0)
    printf("%s%s\n", before, text);
}

static void complete_command(const char *begin, bool has_help)
{
  for (size_t i = 0; clpi_commands[i]; i++)
    answer("", begin, clpi_commands[i]->name);
  if (has_help)
    answer("", begin, "help");
}

static void complete_option(const clpi_command *command, const char *begin)
{
  char name[64];
  for (const clpi_option *option = clpi_options; option->name; option++) {
    if (!(option->commands & command->bit))
      continue;
    snprintf(name, sizeof(name), "--%s%s", option->name, option->value ? "=" : "");
    answer("", begin, name);
    snprintf(name, sizeof(name), "-%c", option->letter);
    if (option->letter)
      answer("", begin, name);
  }
}

static void complete_value(const clpi_command *command, const clpi_option *option,
                           const char *before, const char *begin)
{
  bool is_file = option->kind == CLPI_PATH || option->kind == CLPI_OUTPUT;
  if (option->kind == CLPI_ALLOCATOR)
    for (clpi_allocator_kind i = 0; i < CLPI_ALLOCATOR_KINDS; i++)
      if (clpi_takes_allocator(command, i))
        answer(before, begin, clpi_allocators[i].name);
  for (size_t i = 0; option->kind == CLPI_COST && clpi_known_machines[i]; i++)
    answer(before, begin, clpi_known_machines[i]);
  if (option->kind == CLPI_SCALE)
    answer(before, begin, "auto");
  if (is_file || option->kind == CLPI_COST)
    puts(":files");
}

/* The option that a word names, "--cost", "--cost=..." or "-o", if it needs a value. */
static const clpi_option *find_option(const clpi_command *command, const char *word)
{
  const bool is_long = strncmp(word, "--", 2) == 0;
  const size_t length = is_long ? strcspn(word + 2, "=") : 0;
  for (const clpi_option *option = clpi_options; option->name; option++) {
    bool is_it = is_long ? strlen(option->name) == length && !memcmp(option->name, word + 2, length)
                         : word[0] == '-' && word[1] && option->letter == word[1] && !word[2];
    if (is_it && option->value && (option->commands & command->bit))
      return option;
  }
  return NULL;
}

/* The last of the words behind a command. bash makes a word of "=", other shells do not. */
static void complete_word(const clpi_command *command, size_t count, char **words)
{
  const char *begin = words[count - 1], *named = count > 1 ? words[count - 2] : "";
  const char *equals = begin[0] == '-' || begin[0] == '=' ? strchr(begin, '=') : NULL;
  bool is_value = equals || strcmp(named, "=") == 0;
  char before[64] = "";
  if (equals && equals > begin) {
    snprintf(before, sizeof(before), "%.*s", (int)(equals + 1 - begin), begin);
    named = before;
  } else if (!equals && is_value) {
    named = count > 2 ? words[count - 3] : "";
  }
  begin = equals ? equals + 1 : begin;
  const clpi_option *option = is_value || !strchr(named, '=') ? find_option(command, named) : NULL;
  if (option)
    complete_value(command, option, before, begin);
  else if (begin[0] == '-')
    complete_option(command, begin);
  else if (command->operands != CLPI_NO_OPERANDS && !is_value)
    puts(":files");
}

void clpi_complete(size_t count, char **words)
{
  const clpi_command *command = count > 1 ? clpi_find_command(words[0]) : NULL;
  if (command)
    complete_word(command, count - 1, words + 1);
  else if (count == 2 && strcmp(words[0], "help") == 0)
    complete_command(words[1], false);
  else if (count == 1 && words[0][0] != '-')
    complete_command(words[0], true);
  else if (count == 1) {
    answer("", words[0], "--help");
    answer("", words[0], "--version");
  }
}
