/* SPDX-License-Identifier: MIT */
/* A legal OpenCL program, which knows nothing of clpool: threads make, fill, copy and release
 * buffers of one context without waiting, on a queue that they share or on their own, and pass them
 * on to each other. Whoever gets one finds in it what was written, or ends the process. Arguments:
 * how many threads, how many queues, how many buffers each thread makes. */
#include "support/chance.h"
#include "support/opencl_devices.h"

#include <CL/cl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { SKIPPED = 77, MOST = 16, SLOTS = 8, MOST_WORDS = 5000 };

#define require(condition)                                                                         \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      printf("line %d: %s is false\n", __LINE__, #condition);                                      \
      fflush(stdout);                                                                              \
      abort();                                                                                     \
    }                                                                                              \
  } while (0)

typedef struct item {
  cl_mem mem; /* NULL: none */
  size_t words;
  cl_uint value; /* of all words */
  cl_event written;
} item;

static struct {
  cl_context context;
  cl_command_queue queues[MOST];
  unsigned long queue_count, buffers;
  pthread_mutex_t lock; /* guards the slots */
  item slots[SLOTS];
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

static item make(clpt_chance *chance, cl_command_queue on)
{
  cl_int code;
  item made = {.words = 1 + clpt_chance_below(chance, MOST_WORDS),
               .value = (cl_uint)clpt_chance_next(chance)};
  made.mem = clCreateBuffer(all.context, CL_MEM_READ_WRITE, 4 * made.words, NULL, &code);
  require(made.mem && !code);
  require(!clEnqueueFillBuffer(on, made.mem, &made.value, 4, 0, 4 * made.words, 0, NULL,
                               &made.written));
  require(!clFlush(on));
  return made;
}

static void release(const item *it)
{
  require(!clReleaseMemObject(it->mem));
  require(!clReleaseEvent(it->written));
}

/* The source goes while it is read. */
static item copy(clpt_chance *chance, cl_command_queue on, const item *from)
{
  item made = make(chance, on);
  if (made.words > from->words)
    made.words = from->words;
  cl_event filled = made.written;
  const cl_event list[] = {from->written, filled};
  require(
      !clEnqueueCopyBuffer(on, from->mem, made.mem, 0, 0, 4 * made.words, 2, list, &made.written));
  require(!clFlush(on) && !clReleaseEvent(filled));
  made.value = from->value;
  release(from);
  return made;
}

static void check(cl_command_queue on, const item *of)
{
  cl_uint words[MOST_WORDS];
  require(
      !clEnqueueReadBuffer(on, of->mem, CL_TRUE, 0, 4 * of->words, words, 1, &of->written, NULL));
  for (size_t i = 0; i < of->words; i++)
    require(words[i] == of->value);
}

/* Leaves one for others, and gets what was there. */
static item exchange(size_t slot, item left)
{
  pthread_mutex_lock(&all.lock);
  item found = all.slots[slot];
  all.slots[slot] = left;
  pthread_mutex_unlock(&all.lock);
  return found;
}

static void *run(void *argument)
{
  const size_t number = (size_t)argument;
  clpt_chance chance = clpt_chance_seed((unsigned)number + 1);
  cl_command_queue on = all.queues[number % all.queue_count];
  for (unsigned long i = 0; i < all.buffers; i++) {
    item found = exchange(clpt_chance_below(&chance, SLOTS), make(&chance, on));
    if (!found.mem)
      continue;
    if (clpt_chance_below(&chance, 2))
      found = copy(&chance, on, &found);
    if (clpt_chance_below(&chance, 4) == 0)
      check(on, &found);
    release(&found);
  }
  return NULL;
}

static unsigned long argument(int argc, char **argv, int place, unsigned long otherwise)
{
  const unsigned long given = argc > place ? strtoul(argv[place], NULL, 10) : otherwise;
  return place < 3 && given > MOST ? MOST : given;
}

static bool begin(void)
{
  cl_device_id device;
  if (clpt_find_devices(1, &device) == 0)
    return false;
  all.context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
  require(all.context);
  for (size_t i = 0; i < all.queue_count; i++) {
    all.queues[i] = clCreateCommandQueueWithProperties(all.context, device, NULL, NULL);
    require(all.queues[i]);
  }
  return true;
}

static void end(void)
{
  for (size_t i = 0; i < SLOTS; i++) {
    if (!all.slots[i].mem)
      continue;
    check(all.queues[0], &all.slots[i]);
    release(&all.slots[i]);
  }
  for (size_t i = 0; i < all.queue_count; i++)
    require(!clReleaseCommandQueue(all.queues[i]));
  require(!clReleaseContext(all.context));
}

int main(int argc, char **argv)
{
  pthread_t threads[MOST];
  const unsigned long count = argument(argc, argv, 1, 4);
  all.queue_count = argument(argc, argv, 2, 1);
  all.buffers = argument(argc, argv, 3, 1000);
  if (!begin())
    return SKIPPED;
  for (size_t i = 0; i < count; i++)
    require(!pthread_create(&threads[i], NULL, run, (void *)i));
  for (size_t i = 0; i < count; i++)
    require(!pthread_join(threads[i], NULL));
  end();
  printf("%lu threads, %lu queues, %lu buffers each\n", count, all.queue_count, all.buffers);
  return EXIT_SUCCESS;
}
