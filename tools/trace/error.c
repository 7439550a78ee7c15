/* SPDX-License-Identifier: MIT */
/* Messages, by the library's last error; where something is wrong in a file, and what is there. */
#include "trace/error.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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
  int length = snprintf(message, sizeof(message), "%s:%" PRIu64 ":%zu: ", name, line, column);
  va_start(arguments, format);
  if (length < (int)sizeof(message))
    vsnprintf(message + length, sizeof(message) - (size_t)length, format, arguments);
  va_end(arguments);
  return clp_set_last_error(CLP_INVALID_ARGUMENT, 0, message);
}
