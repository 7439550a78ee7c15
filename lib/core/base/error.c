/* SPDX-License-Identifier: MIT */
/* Names and messages of statuses, and each thread's last error, which needs no allocation. */
#include "core/base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct last_error {
  clp_error error;
  unsigned long serial;
  char message[CLPI_MESSAGE_BYTES];
} last_error;

static _Thread_local last_error last;

const clp_error *clp_last_error(void)
{
  last.error.message = last.serial ? last.message : clp_status_message(CLP_SUCCESS);
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
  memcpy(last.message, message, sizeof(message));
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
  kept->serial = last.serial;
  kept->error = last.error;
  memcpy(kept->message, last.message, strlen(last.message) + 1);
}

void clpi_error_restore(const clpi_kept_error *kept)
{
  if (last.serial != kept->serial)
    clpi_error(kept->error.status, kept->error.native_code, "%s",
               kept->serial ? kept->message : clp_status_message(CLP_SUCCESS));
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
