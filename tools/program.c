/* SPDX-License-Identifier: MIT */
/* Errors in one line, exit codes that mean something, and output that is known to be written. */
#include "program.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char *program_name = "clpool";

void clpi_set_program_name(const char *name)
{
  program_name = name;
}

/* File names may contain line feeds and worse. */
static void make_printable(char *text)
{
  for (; *text; text++)
    if ((unsigned char)*text < ' ' || *text == '\x7f')
      *text = '?';
}

static void complain(const char *format, va_list arguments) __attribute__((format(printf, 1, 0)));

static void complain(const char *format, va_list arguments)
{
  char line[1024];
  vsnprintf(line, sizeof(line), format, arguments);
  make_printable(line);
  fprintf(stderr, "%s: %s\n", program_name, line);
}

void clpi_complain(const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  complain(format, arguments);
  va_end(arguments);
}

int clpi_misuse(const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  complain(format, arguments);
  va_end(arguments);
  return CLPI_EXIT_MISUSE;
}

int clpi_failed(clp_status status)
{
  clpi_complain("%s", clp_last_error()->message);
  bool is_input = status == CLP_INVALID_ARGUMENT || status == CLP_IO_ERROR;
  return is_input ? CLPI_EXIT_MISUSE : CLPI_EXIT_FAILED;
}

int clpi_finish_output(int code)
{
  bool had_failed = ferror(stdout);
  errno = 0;
  if (fclose(stdout) == 0 && !had_failed)
    return code;
  clpi_complain("cannot write to standard output: %s", strerror(errno ? errno : EIO));
  return CLPI_EXIT_FAILED;
}
