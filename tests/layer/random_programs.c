/* SPDX-License-Identifier: MIT */
/* Legal OpenCL programs, drawn by chance, that know nothing of clpool: buffers are made, filled,
 * copied, shared, parted and released without waiting, on several queues, some behind an event that
 * the program ends late; one or two hands do that, in turn or in two threads, in one context or in
 * one each. A wrong word ends the process, a wait for nothing hangs it. It prints a sum of all
 * answers, which must be the same under a layer. Arguments: the first seed, how many programs, how
 * many of them at once. */
#include "layer/random_programs.h"
#include "support/opencl_devices.h"

#include <pthread.h>

enum { SKIPPED = 77, STEPS = 400, HANDS = 2 };

/* --- a program --- */

typedef struct program {
  size_t hand_count;
  hand *hands[HANDS];
  uint64_t sums[HANDS];
} program;

static cl_context open_context(void)
{
  cl_context context = clCreateContext(NULL, 1, &random_device, NULL, NULL, NULL);
  require(context);
  return context;
}

/* The hands' references alone keep the contexts. */
static void begin(program *self, clpt_chance *chance)
{
  cl_context context = open_context();
  const bool is_shared = clpt_chance_below(chance, 2);
  self->hand_count = 1 + (clpt_chance_below(chance, 3) == 0);
  for (size_t i = 0; i < self->hand_count; i++) {
    if (i > 0 && !is_shared) {
      require(!clReleaseContext(context));
      context = open_context();
    }
    self->hands[i] = hand_begin((unsigned)clpt_chance_next(chance), context);
  }
  require(!clReleaseContext(context));
}

static void *act_alone(void *argument)
{
  hand *self = argument;
  for (size_t i = 0; i < STEPS / HANDS; i++)
    hand_step(self);
  return (void *)(uintptr_t)hand_end(self); /* what a pointer holds of it */
}

static uint64_t act_at_once(const program *self)
{
  pthread_t threads[HANDS];
  uint64_t sum = 0;
  for (size_t i = 0; i < self->hand_count; i++)
    require(!pthread_create(&threads[i], NULL, act_alone, self->hands[i]));
  for (size_t i = 0; i < self->hand_count; i++) {
    void *answer;
    require(!pthread_join(threads[i], &answer));
    sum += (uintptr_t)answer;
  }
  return sum;
}

static uint64_t act_in_turn(const program *self)
{
  uint64_t sum = 0;
  for (size_t i = 0; i < STEPS; i++)
    hand_step(self->hands[i % self->hand_count]);
  for (size_t i = 0; i < self->hand_count; i++)
    sum += hand_end(self->hands[i]);
  return sum;
}

static uint64_t run(unsigned seed)
{
  clpt_chance chance = clpt_chance_seed(seed);
  program self = {0};
  begin(&self, &chance);
  return self.hand_count > 1 && clpt_chance_below(&chance, 2) ? act_at_once(&self)
                                                              : act_in_turn(&self);
}

/* --- many --- */

typedef struct crowd {
  unsigned first, count;
  atomic_uint next;
  _Atomic(uint64_t) sum;
} crowd;

static void *run_some(void *argument)
{
  crowd *of = argument;
  for (unsigned i; (i = atomic_fetch_add(&of->next, 1)) < of->count;)
    atomic_fetch_add(&of->sum, run(of->first + i));
  return NULL;
}

int main(int argc, char **argv)
{
  pthread_t threads[16];
  if (clpt_find_devices(1, &random_device) == 0)
    return SKIPPED;
  hand_compile();
  crowd all = {.first = argc > 1 ? (unsigned)atoi(argv[1]) : 1,
               .count = argc > 2 ? (unsigned)atoi(argv[2]) : 10};
  size_t count = argc > 3 ? (size_t)atoi(argv[3]) : 1;
  count = count > 16 ? 16 : count;
  for (size_t i = 0; i < count; i++)
    require(!pthread_create(&threads[i], NULL, run_some, &all));
  for (size_t i = 0; i < count; i++)
    require(!pthread_join(threads[i], NULL));
  printf("%u programs, sum %016llx\n", all.count, (unsigned long long)all.sum);
  return EXIT_SUCCESS;
}
