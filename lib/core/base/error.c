/* SPDX-License-Identifier: MIT */
/* Names and messages of statuses, and each thread's last error. */
#include "core/base/error.h"

#include "core/base/thread_end.h"

#include <clpool/version.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A thread's last error. Static TLS is scarce for copies of the library in plug-ins. So the text is
 * in host memory, from the thread's first error to its end. If there is none, the message is the
 * status' own. */
static _Thread_local struct {
  clp_error error; /* message NULL: nobody has asked and there was none */
  unsigned long serial;
  char *text; /* CLPI_MESSAGE_BYTES; NULL: none */
} last __attribute__((tls_model("initial-exec")));

/* Runs at the thread's end, and for the thread that unloads the library, which the thread survives.
 * The thread may have further errors. */
__attribute__((destructor)) static void free_text(void)
{
  if (!last.text)
    return;
  last.error.message = clp_status_message(last.error.status);
  free(last.text);
  last.text = NULL;
}

static char *own_text(void)
{
  if (last.text || !clpi_thread_end_watch())
    return last.text;
  clpi_thread_end_add(free_text);
  last.text = malloc(CLPI_MESSAGE_BYTES);
  return last.text;
}

const clp_error *clp_last_error(void)
{
  if (!last.error.message)
    last.error.message = clp_status_message(CLP_SUCCESS);
  return &last.error;
}

clp_status clpi_error(clp_status status, int native_code, const char *format, ...)
{
  /* The arguments may point into the previous message, so format into a copy first. */
  char message[CLPI_MESSAGE_BYTES];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof(message), format, arguments);
  va_end(arguments);
  char *text = own_text();
  if (text)
    memcpy(text, message, strlen(message) + 1);
  last.error.message = text ? text : clp_status_message(status);
  last.error.status = status;
  last.error.native_code = native_code;
  last.serial++;
  return status;
}

unsigned long clpi_error_serial(void)
{
  return last.serial;
}

void clpi_error_keep(clpi_kept_error *kept)
{
  const char *message = last.error.message ? last.error.message : "";
  kept->serial = last.serial;
  kept->error = last.error;
  memcpy(kept->message, message, strlen(message) + 1);
}

void clpi_error_restore(const clpi_kept_error *kept)
{
  if (last.serial != kept->serial)
    (void)clp_set_last_error(kept->error.status, kept->error.native_code,
                             *kept->message ? kept->message : NULL);
}

clp_status clp_set_last_error(clp_status status, int native_code, const char *message)
{
  return clpi_error(status, native_code, "%s", message ? message : clp_status_message(status));
}

const char *clp_status_name(clp_status status)
{
  switch (status) {
#define NAME_CASE(name, value, message)                                                            \
  case name:                                                                                       \
    return #name;
    CLP_STATUS_MAP(NAME_CASE)
#undef NAME_CASE
  }
  return "CLP_UNKNOWN_STATUS";
}

const char *clp_status_message(clp_status status)
{
  switch (status) {
#define MESSAGE_CASE(name, value, message)                                                         \
  case name:                                                                                       \
    return message;
    CLP_STATUS_MAP(MESSAGE_CASE)
#undef MESSAGE_CASE
  }
  return "unknown status";
}

const char *clp_version(void)
{
  return CLP_VERSION_STRING;
}
