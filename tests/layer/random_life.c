/* SPDX-License-Identifier: MIT */
#include "layer/random_programs.h"

#include <sched.h>

enum { CALLBACKS = 3 };

/* --- memory that a hand gives --- */

typedef struct host_words {
  hand *of;
  cl_uint words[MOST_WORDS] __attribute__((aligned(128)));
} host_words;

static void CL_CALLBACK free_host_words(cl_mem mem, void *user_data)
{
  host_words *host = user_data;
  hand *of = host->of;
  (void)mem;
  free(host);
  atomic_fetch_sub(&of->callbacks, 1);
}

/* A buffer that has its words from the start: copied, or the hand's own memory. */
static void make_on_host(hand *self, buffer *out)
{
  cl_int code;
  const bool is_copied = below(self, 2);
  host_words *host = aligned_alloc(128, sizeof(*host));
  require(host);
  host->of = self;
  out->value = (cl_uint)clpt_chance_next(&self->chance);
  for (size_t i = 0; i < out->words; i++)
    host->words[i] = out->value;
  out->mem = clCreateBuffer(self->context, is_copied ? CL_MEM_COPY_HOST_PTR : CL_MEM_USE_HOST_PTR,
                            4 * out->words, host->words, &code);
  require(out->mem && !code);
  if (is_copied) {
    free(host);
    return;
  }
  atomic_fetch_add(&self->callbacks, 1);
  require(!clSetMemObjectDestructorCallback(out->mem, free_host_words, host));
}

void hand_make(hand *self, buffer *out)
{
  cl_int code;
  const cl_mem_flags flags = below(self, 3) ? CL_MEM_READ_WRITE : CL_MEM_ALLOC_HOST_PTR;
  static const size_t words[] = {1, 1000, 1003, MOST_WORDS}; /* two share a block's size */
  queue *on = &self->queues[below(self, self->queue_count)];
  *out = (buffer){.words = words[below(self, 4)], .references = 1};
  if (below(self, 10) == 0) {
    make_on_host(self, out);
    hand_part(self, on, out); /* each has a use */
    return;
  }
  out->mem = clCreateBuffer(self->context, flags, 4 * out->words, NULL, &code);
  require(out->mem && !code);
  if (below(self, 4))
    hand_fill(self, on, out);
  else
    hand_write(self, on, out);
}

/* --- references --- */

void hand_share(hand *self, buffer *of)
{
  if (below(self, 2)) {
    require(!clRetainMemObject(of->mem));
    of->references++;
  } else if (of->references > 1) {
    require(!clReleaseMemObject(of->mem));
    of->references--;
  }
}

/* --- callbacks at a buffer's end --- */

static void drop_watch(watch *of)
{
  if (atomic_fetch_sub(&of->left, 1) > 1)
    return;
  require(!clReleaseEvent(of->latest));
  free(of);
}

/* NVIDIA's driver calls back once the last reference goes, whatever work is left. */
static bool calls_early(void)
{
  enum { NVIDIA = 0x10de };
  cl_uint vendor = 0;
  require(!clGetDeviceInfo(random_device, CL_DEVICE_VENDOR_ID, sizeof(vendor), &vendor, NULL));
  return vendor == NVIDIA;
}

static void CL_CALLBACK ended(cl_mem mem, void *user_data)
{
  (void)mem;
  watch *of = user_data;
  cl_int progress = CL_QUEUED;
  require(!clGetEventInfo(of->latest, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(progress),
                          &progress, NULL));
  require(progress == CL_COMPLETE || calls_early());
  drop_watch(of);
}

void hand_watch(buffer *of)
{
  if (of->watched)
    return;
  of->watched = calloc(1, sizeof(*of->watched));
  require(of->watched);
  of->watched->left = CALLBACKS + 1;
  for (int i = 0; i < CALLBACKS; i++)
    require(!clSetMemObjectDestructorCallback(of->mem, ended, of->watched));
}

/* They come once the buffer's work is done, whatever is done later. */
static void await_callbacks(const buffer *of)
{
  if (!of->is_gated) {
    require(!clWaitForEvents(1, &of->latest));
    while (atomic_load(&of->watched->left) > 1)
      sched_yield();
  }
  drop_watch(of->watched);
}

/* --- the end --- */

static void release_all(const buffer *of)
{
  for (unsigned i = 0; i < of->references; i++)
    require(!clReleaseMemObject(of->mem));
  if (of->part)
    require(!clReleaseMemObject(of->part));
}

typedef struct late_release {
  hand *by;
  buffer of;
} late_release;

static void CL_CALLBACK release_late(cl_event event, cl_int progress, void *user_data)
{
  late_release *what = user_data;
  hand *by = what->by;
  (void)event;
  require(progress == CL_COMPLETE);
  release_all(&what->of);
  free(what);
  atomic_fetch_sub(&by->callbacks, 1);
}

static void release_behind(hand *self, const buffer *of)
{
  late_release *what = malloc(sizeof(*what));
  require(what);
  *what = (late_release){self, *of};
  atomic_fetch_add(&self->callbacks, 1);
  require(!clSetEventCallback(of->latest, CL_COMPLETE, release_late, what));
}

void hand_end_buffer(hand *self, buffer *of)
{
  if (of->watched) { /* the callbacks may come from here on */
    require(!clRetainEvent(of->latest));
    of->watched->latest = of->latest;
  }
  if (!of->watched && below(self, 8) == 0)
    release_behind(self, of);
  else
    release_all(of);
  if (of->watched)
    await_callbacks(of);
  require(!clReleaseEvent(of->latest));
  *of = (buffer){0};
}
