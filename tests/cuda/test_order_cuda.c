/* SPDX-License-Identifier: MIT */
/* Stream order, over the fake CUDA driver, which finds wrong order itself as well: it ends the
 * program where a stream may use memory that is another one's at the time. */
#include "support/cuda_device.h"
#include "support/order_suite.h"

#include <clpool/cuda.h>

static CUstream streams[CLPT_ORDER_STREAMS]; /* of a context that is current meanwhile */

static bool open_device(int variant, clpt_order_setting *out)
{
  fakecuda_reset();
  clpt_cuda_ok(cuInit(0));
  clpt_cuda_retain(0);
  for (int i = 0; i < CLPT_ORDER_STREAMS; i++)
    out->streams[i] = streams[i] = clpt_cuda_stream();
  out->allocator = clpt_cuda_allocator(0, streams[CLPT_H]);
  out->on_arena = variant == 1;
  out->are_apart = true;
  return true;
}

static void close_device(void)
{
  ck_assert_uint_eq(fakecuda_live_allocations(), 0);
  for (int i = 0; i < CLPT_ORDER_STREAMS; i++)
    clpt_cuda_ok(cuStreamDestroy(streams[i]));
  clpt_cuda_release(0);
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
  clpt_cuda_ok(cuStreamSynchronize(stream));
}

static void finish_all(void)
{
  clpt_cuda_ok(cuCtxSynchronize());
}

static bool is_held_up(clp_stream stream)
{
  return fakecuda_commands_left(stream) > 0;
}

static void order(clp_stream earlier, clp_stream later)
{
  CUevent event;
  clpt_cuda_ok(cuEventCreate(&event, CLPI_CUDA_EVENT_DISABLE_TIMING));
  clpt_cuda_ok(cuEventRecord(event, earlier));
  clpt_cuda_ok(cuStreamWaitEvent(later, event, 0));
  clpt_cuda_ok(cuEventDestroy(event));
}

static void write_words(clp_stream stream, clp_buffer *buffer, uint32_t word)
{
  clpt_cuda_fill(clp_buffer_cuda_pointer(buffer), (unsigned char)word, CLPT_ORDER_BYTES, stream);
}

static void read_words(clp_stream stream, clp_buffer *buffer, uint32_t *to)
{
  clpt_cuda_ok(cuMemcpyDtoHAsync(to, clp_buffer_cuda_pointer(buffer), CLPT_ORDER_BYTES, stream));
}

static clp_stream renew(clp_stream stream)
{
  clpt_cuda_ok(cuStreamDestroy(stream));
  for (int i = 0; i < CLPT_ORDER_STREAMS; i++)
    if (streams[i] == stream)
      return streams[i] = clpt_cuda_stream();
  return NULL;
}

static const clpt_order_backend fake = {.variants = 2, /* on an arena or not */
                                        .rounds = 1,
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
