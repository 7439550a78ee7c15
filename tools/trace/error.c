/* SPDX-License-Identifier: MIT */
/* Messages, by the library's last error; where something is wrong in a file, and what is there. */
#include "trace/error.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

clp_status trace_error(clp_status status, int native_code, const char *format, ...)
{
  char message[TRACE_MESSAGE_BYTES];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof(message), format, arguments);
  va_end(arguments);
  return clp_set_last_error(status, native_code, message);
}

trace_found_text trace_show_found(const char *text, size_t length, bool cut)
{
  enum { SHOWN_BYTES = 40 }; /* four characters each, at most */
  trace_found_text shown;
  char *to = shown.text;
  if (length == 0 && !cut) {
    strcpy(to, "nothing");
    return shown;
  }
  cut = cut || length > SHOWN_BYTES;
  *to++ = '"';
  for (size_t i = 0; i < length && i < SHOWN_BYTES; i++) {
    unsigned char byte = (unsigned char)text[i];
    if (byte == '"' || byte == '\\')
      to += sprintf(to, "\\%c", byte);
    else if (byte >= ' ' && byte <= '~')
      *to++ = (char)byte;
    else
      to += sprintf(to, "\\x%02x", byte);
  }
  strcpy(to, cut ? "...\"" : "\"");
  return shown;
}

clp_status trace_error_at(const char *name, uint64_t line, size_t column, const char *format, ...)
{
  char message[TRACE_MESSAGE_BYTES];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof(message), format, arguments);
  va_end(arguments);
  return trace_error(CLP_INVALID_ARGUMENT, 0, "%s:%" PRIu64 ":%zu: %s", name, line, column,
                     message);
}

void *trace_grow(void *array, size_t *capacity, size_t wanted, size_t size, const char *what)
{
  const size_t before = *capacity, count = MAX(wanted, 2 * before);
  if (wanted <= before)
    return array;
  char *grown = reallocarray(array, count, size);
  if (!grown)
    trace_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory for %zu %s", count, what);
  else
    memset(grown + before * size, 0, (count - before) * size);
  *capacity = grown ? count : before;
  return grown;
}
