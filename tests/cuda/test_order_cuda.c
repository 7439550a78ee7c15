/* SPDX-License-Identifier: MIT */
/* Stream order, over the fake CUDA driver, which finds wrong order itself as well: it ends the
 * program where a stream may use memory that is another one's at the time. */
#include "support/cuda_device.h"
#include "support/order_suite.h"

#include <clpool/cuda.h>

enum { VARIANTS = 2 }; /* on an arena or not */

static clpt_cuda cuda;
static CUstream streams[CLPT_ORDER_STREAMS];

static CUstream new_stream(void)
{
  CUstream stream;
  clpt_cuda_enter(&cuda);
  clpt_cuda_ok(cuStreamCreate(&stream, FAKECUDA_STREAM_NON_BLOCKING));
  clpt_cuda_leave();
  return stream;
}

static void destroy(CUstream stream)
{
  clpt_cuda_enter(&cuda);
  clpt_cuda_ok(cuStreamDestroy(stream));
  clpt_cuda_leave();
}

static bool open_device(int variant, clpt_order_setting *out)
{
  fakecuda_reset();
  clpt_cuda_open(&cuda, 0);
  for (int i = 0; i < CLPT_ORDER_STREAMS; i++)
    out->streams[i] = streams[i] = new_stream();
  out->allocator = clpt_cuda_allocator(0, streams[CLPT_H]);
  out->on_arena = variant == 1;
  out->are_apart = true;
  return true;
}

static void close_device(void)
{
  ck_assert_ptr_null(clpt_cuda_current());
  ck_assert_uint_eq(fakecuda_live_allocations(), 0);
  for (int i = 0; i < CLPT_ORDER_STREAMS; i++)
    destroy(streams[i]);
  clpt_cuda_close(&cuda);
  fakecuda_reset();
}

static void *gate(clp_stream stream)
{
  fakecuda_hold(stream);
  return stream;
}

static void go(void *stream)
{
  fakecuda_go_on(stream);
}

static void finish(clp_stream stream)
{
  clpt_cuda_enter(&cuda);
  clpt_cuda_ok(cuStreamSynchronize(stream));
  clpt_cuda_leave();
}

static void finish_all(void)
{
  clpt_cuda_enter(&cuda);
  clpt_cuda_ok(cuCtxSynchronize());
  clpt_cuda_leave();
}

static bool is_held_up(clp_stream stream)
{
  return fakecuda_commands_left(stream) > 0;
}

static void order(clp_stream earlier, clp_stream later)
{
  CUevent event;
  clpt_cuda_enter(&cuda);
  clpt_cuda_ok(cuEventCreate(&event, CLPI_CUDA_EVENT_DISABLE_TIMING));
  clpt_cuda_ok(cuEventRecord(event, earlier));
  clpt_cuda_ok(cuStreamWaitEvent(later, event, 0));
  clpt_cuda_ok(cuEventDestroy(event));
  clpt_cuda_leave();
}

static void write_words(clp_stream stream, clp_buffer *buffer, uint32_t word)
{
  clpt_cuda_fill(&cuda, stream, clp_buffer_cuda_pointer(buffer), CLPT_ORDER_BYTES,
                 (unsigned char)word);
}

static bool read_words(clp_stream stream, clp_buffer *buffer, uint32_t *to)
{
  clpt_cuda_enter(&cuda);
  clpt_cuda_ok(cuMemcpyDtoHAsync(to, clp_buffer_cuda_pointer(buffer), CLPT_ORDER_BYTES, stream));
  clpt_cuda_leave();
  return true;
}

static clp_stream renew(clp_stream stream)
{
  destroy(stream);
  for (int i = 0; i < CLPT_ORDER_STREAMS; i++)
    if (streams[i] == stream)
      return streams[i] = new_stream();
  return NULL;
}

static const clpt_order_backend fake = {.variants = VARIANTS,
                                        .rounds = 1,
                                        .looks = CLPT_MOST_LOOKS,
                                        .open = open_device,
                                        .close = close_device,
                                        .gate = gate,
                                        .go = go,
                                        .order = order,
                                        .write = write_words,
                                        .read = read_words,
                                        .is_held_up = is_held_up,
                                        .finish = finish,
                                        .finish_all = finish_all,
                                        .renew = renew};

int main(void)
{
  clpt_cuda_use_fake();
  return clpt_run(clpt_order_suite("order: CUDA", &fake, NULL, NULL));
}
