/* SPDX-License-Identifier: MIT */
/* Stream order, over the device whose streams run late. It finds wrong order itself. */
#include "support/late_device.h"
#include "support/order_suite.h"

enum { HOMES = 3, ORDERS = 3, ARENAS = 2, VARIANTS = HOMES * ORDERS * ARENAS * CLPT_LATE_FREEINGS };

static clpt_late_device device;
static clp_stream gated_home; /* NULL: home goes on whenever somebody looks */

static bool never_in_order(void *self, clp_stream stream)
{
  (void)self, (void)stream;
  return false;
}

static bool home_is_in_order(void *self, clp_stream stream)
{
  (void)self;
  return stream == device.ops.home_stream;
}

static bool open_device(int variant, clpt_order_setting *out)
{
  int home = variant % HOMES;
  int rest = variant / HOMES;
  clpt_late_init(&device);
  device.ops.alignment = 256;
  device.streams.reuse_addresses = true;
  gated_home = NULL;
  for (int i = 0; i < CLPT_ORDER_STREAMS; i++)
    out->streams[i] = clpt_late_stream_new(&device);
  device.ops.home_stream = home > 0 ? out->streams[CLPT_H] : NULL;
  device.ops.allocate_uses_home = home > 1;
  if (rest % ORDERS)
    device.ops.stream_is_in_order = rest % ORDERS > 1 ? never_in_order : home_is_in_order;
  out->on_arena = rest / ORDERS % ARENAS;
  out->are_apart = true;
  clpt_late_set_freeing(&device, (clpt_late_freeing)(rest / ORDERS / ARENAS));
  out->allocator = clpt_late_allocator(&device);
  return true;
}

static void close_device(void)
{
  clpt_late_assert_ended(&device);
}

/* All streams are held up until somebody finishes them, if they have work. */
static void *gate(clp_stream stream)
{
  clpt_late_order(&device, stream, stream);
  if (stream == device.ops.home_stream)
    gated_home = stream;
  return NULL;
}

/* So does what the device does to new memory there. */
static void let_home_go_on(void)
{
  if (device.ops.home_stream != NULL && gated_home == NULL)
    clpt_late_run(&device, device.ops.home_stream);
}

static bool is_held_up(clp_stream stream)
{
  let_home_go_on();
  return clpt_late_is_held_up(&device, stream);
}

static void finish(clp_stream stream)
{
  if (stream == gated_home)
    gated_home = NULL;
  let_home_go_on();
  clpt_late_run(&device, stream);
}

static void finish_all(void)
{
  clpt_late_run_all(&device);
}

static void order(clp_stream earlier, clp_stream later)
{
  clpt_late_order(&device, earlier, later);
}

static void write_words(clp_stream stream, clp_buffer *buffer, uint32_t word)
{
  (void)word;
  clpt_late_write(&device, stream, clp_buffer_memory(buffer));
}

static bool read_words(clp_stream stream, clp_buffer *buffer, uint32_t *to)
{
  (void)to;
  clpt_late_read(&device, stream, clp_buffer_memory(buffer));
  return false;
}

static void drop(clp_stream stream)
{
  clpt_late_stream_drop(&device, stream);
}

static clp_stream renew(clp_stream stream)
{
  clpt_late_stream_destroy(&device, stream);
  return clpt_late_stream_new(&device);
}

static const clpt_order_backend late = {.variants = VARIANTS,
                                        .rounds = 1,
                                        .looks = 1,
                                        .open = open_device,
                                        .close = close_device,
                                        .gate = gate,
                                        .order = order,
                                        .write = write_words,
                                        .read = read_words,
                                        .is_held_up = is_held_up,
                                        .finish = finish,
                                        .finish_all = finish_all,
                                        .drop = drop,
                                        .renew = renew};

int main(void)
{
  return clpt_run(clpt_order_suite("order: late device", &late, NULL, NULL));
}
