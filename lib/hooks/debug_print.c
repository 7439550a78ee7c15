/* SPDX-License-Identifier: MIT */
/* Prints hook events as JSON, with the keys of cupy.cuda.memory_hooks.DebugPrintHook in its order,
 * and a flush after each line. A line is one stdio call, so lines of threads do not mix. */
#include "core/base/error.h"

#include <clpool/hook.h>
#include <inttypes.h>
#include <stdlib.h>

/* An alloc or a device_free. */
static void print_device_call(FILE *file, const char *name, const clp_hook_event *event)
{
  (void)fprintf(file,
                "{\"hook\":\"%s\",\"device_id\":%d,\"mem_size\":%zu,\"mem_ptr\":%" PRIuPTR "}\n",
                name, event->device_id, event->mem_size, event->memory);
  (void)fflush(file);
}

static void print_alloc(const clp_hook_event *event, void *file)
{
  print_device_call(file, "alloc", event);
}

static void print_device_free(const clp_hook_event *event, void *file)
{
  print_device_call(file, "device_free", event);
}

static void print_malloc(const clp_hook_event *event, void *file)
{
  (void)fprintf(file,
                "{\"hook\":\"malloc\",\"device_id\":%d,\"size\":%zu,\"mem_size\":%zu,"
                "\"mem_ptr\":%" PRIuPTR ",\"pmem_id\":\"0x%" PRIx64 "\"}\n",
                event->device_id, event->size, event->mem_size, event->memory, event->buffer_id);
  (void)fflush(file);
}

static void print_free(const clp_hook_event *event, void *file)
{
  (void)fprintf(file,
                "{\"hook\":\"free\",\"device_id\":%d,\"mem_size\":%zu,\"mem_ptr\":%" PRIuPTR
                ",\"pmem_id\":\"0x%" PRIx64 "\"}\n",
                event->device_id, event->mem_size, event->memory, event->buffer_id);
  (void)fflush(file);
}

clp_status clp_debug_print_hook_create(FILE *file, clp_hook **out)
{
  if (!out)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "clp_debug_print_hook_create: out is NULL");
  *out = NULL;
  if (!file)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "clp_debug_print_hook_create: file is NULL");
  clp_hook *hook = malloc(sizeof(*hook));
  if (!hook)
    return clpi_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory for a hook");
  *hook = (clp_hook){.struct_size = sizeof(*hook),
                     .name = "debug_print",
                     .user_data = file,
                     .malloc_postprocess = print_malloc,
                     .alloc_postprocess = print_alloc,
                     .free_postprocess = print_free,
                     .device_free_postprocess = print_device_free};
  *out = hook;
  return CLP_SUCCESS;
}

void clp_debug_print_hook_destroy(clp_hook *hook)
{
  free(hook);
}
