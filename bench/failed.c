/* SPDX-License-Identifier: MIT */
/* Saying what went wrong. */
#include "failed.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

bool bench_failed(const char *format, ...)
{
  va_list arguments;
  flockfile(stderr); /* threads fail together */
  fprintf(stderr, "%s: ", program_invocation_short_name);
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  putc('\n', stderr);
  funlockfile(stderr);
  return false;
}
