/* SPDX-License-Identifier: MIT */
/* What the examples on CUDA share: the driver's functions that they call themselves, found at run
 * time, so that the examples are built where there is no CUDA. A program on CUDA has them from
 * cuda.h and libcuda, or uses the runtime API, beside which clpool works as well. */
#ifndef EXAMPLE_CUDA_DRIVER_H
#define EXAMPLE_CUDA_DRIVER_H

#include <clpool/cuda.h>

typedef struct cuda_driver {
  int (*init)(unsigned flags);
  int (*device_get)(int *device, int ordinal);
  int (*primary_ctx_retain)(void **ctx, int device);
  int (*primary_ctx_release)(int device);
  int (*ctx_push)(void *ctx);
  int (*ctx_pop)(void **ctx);
  int (*stream_create)(clp_stream *stream, unsigned flags);
  int (*stream_destroy)(clp_stream stream);
  int (*stream_synchronize)(clp_stream stream);
  int (*stream_wait_event)(clp_stream stream, void *event, unsigned flags);
  int (*event_create)(void **event, unsigned flags);
  int (*event_destroy)(void *event);
  int (*event_record)(void *event, clp_stream stream);
  int (*memset_async)(unsigned long long to, unsigned char byte, size_t bytes, clp_stream stream);
  int (*copy_async)(unsigned long long to, unsigned long long from, size_t bytes,
                    clp_stream stream);
  int (*read_async)(void *to, unsigned long long from, size_t bytes, clp_stream stream);
} cuda_driver;

enum { STREAM_NON_BLOCKING = 1, EVENT_DISABLE_TIMING = 2 }; /* CU_STREAM_..., CU_EVENT_... */

/* Ends the example, unless `code` is CUDA_SUCCESS. */
void check_cu(int code, const char *call);

#define CHECK_CU(call) check_cu((call), #call)

/* Whether clpool can use CUDA here: a driver, and memory pools on device 0. If not, says why. */
int cuda_is_here(void);

/* Opens device 0: its primary context is current to the calling thread until close. */
const cuda_driver *open_cuda(void);
void close_cuda(const cuda_driver *cu);

#endif
