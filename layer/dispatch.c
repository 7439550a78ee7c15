/* SPDX-License-Identifier: MIT */
/* What a layer's library exports: its name and its functions. */
#include "dispatch.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const cl_icd_dispatch *clpi_target;
const void *clpi_loader;

void clpi_layer_complain(const char *format, ...)
{
  char line[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(line, sizeof(line), format, arguments);
  va_end(arguments);
  fprintf(stderr, "%s: %s\n", clpi_this_layer.name, line);
}

cl_int clpi_layer_answer(const void *value, size_t size, size_t room, void *to, size_t *size_ret)
{
  if (to && room < size)
    return CL_INVALID_VALUE;
  if (to)
    memcpy(to, value, size);
  if (size_ret)
    *size_ret = size;
  return CL_SUCCESS;
}

cl_int clpi_layer_answer_count(size_t count, size_t room, void *to, size_t *size_ret)
{
  const cl_uint answer = (cl_uint)count;
  return clpi_layer_answer(&answer, sizeof(answer), room, to, size_ret);
}

cl_int clpi_layer_progress(cl_event event)
{
  cl_int progress;
  const cl_int code = clpi_target->clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS,
                                                  sizeof(progress), &progress, NULL);
  return code ? CL_QUEUED : progress;
}

cl_int CL_API_CALL clGetLayerInfo(cl_layer_info what, size_t room, void *to, size_t *size_ret)
{
  static const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
  const char *name = clpi_this_layer.name;
  if (what == CL_LAYER_API_VERSION)
    return clpi_layer_answer(&version, sizeof(version), room, to, size_ret);
  if (what == CL_LAYER_NAME)
    return clpi_layer_answer(name, strlen(name) + 1, room, to, size_ret);
  return CL_INVALID_VALUE;
}

static _Atomic(char *) unused; /* clpi_layer_is_used removes it; NULL: there is none */

static void write_reached(const char *path)
{
  int file = path ? open(path, O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC) : -1;
  if (file < 0)
    return;
  unused = strdup(path);
  if (write(file, "reached\n", 8) < 0 || !unused)
    (void)unlink(path);
  close(file);
}

void clpi_layer_is_used(void)
{
  char *path = atomic_exchange(&unused, NULL);
  if (path)
    (void)unlink(path);
  free(path);
}

/* clpool's run and record set an auditor before others, for programs whose loader has no layers
 * (audit.c). They also name a file: a layer writes to it when it is reached, and removes it when it
 * is of use. Programs that this process starts get neither. */
static void clean_environment(void)
{
  static const char auditor[] = "/libclpool-audit.so";
  const size_t length = sizeof(auditor) - 1;
  const char *list;
  write_reached(secure_getenv("CLPOOL_LAYER_UNUSED"));
  (void)unsetenv("CLPOOL_LAYER_UNUSED");
  while ((list = getenv("LD_AUDIT"))) {
    const char *end = list + strcspn(list, ":");
    bool is_ours = (size_t)(end - list) >= length && memcmp(end - length, auditor, length) == 0;
    if (!is_ours || (*end ? setenv("LD_AUDIT", end + 1, 1) : unsetenv("LD_AUDIT")))
      return;
  }
}

/* A process may have two loaders, such as a Python package's own and the system's. If one of them
 * passes a call to the layer, the other must not pass it again. */
cl_int CL_API_CALL clInitLayer(cl_uint num_entries, const cl_icd_dispatch *target_dispatch,
                               cl_uint *num_entries_ret, const cl_icd_dispatch **layer_dispatch_ret)
{
  const cl_uint entries = sizeof(cl_icd_dispatch) / sizeof(void *);
  if (!target_dispatch || !num_entries_ret || !layer_dispatch_ret)
    return CL_INVALID_VALUE;
  clean_environment();
  if (clpi_target) {
    clpi_layer_complain("calls of a second OpenCL loader in this process are ignored");
    return CL_INVALID_OPERATION;
  }
  clpi_loader = __builtin_extract_return_addr(__builtin_return_address(0));
  if (!clpi_this_layer.begin(target_dispatch)) {
    clpi_layer_is_used(); /* it has said why not */
    return CL_INVALID_OPERATION;
  }
  clpi_target = target_dispatch;
  *num_entries_ret = num_entries < entries ? num_entries : entries;
  *layer_dispatch_ret = clpi_this_layer.functions;
  return CL_SUCCESS;
}
