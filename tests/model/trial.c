/* SPDX-License-Identifier: MIT */
/* Tries programs in child processes, and shortens one that fails. */
#include "trial.h"

#include "support/suite.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* Seconds until a child counts as hung, and how many programs one child runs. */
enum { HANG_SECONDS = 100, HANG_SECONDS_OF_ONE = 20, BATCH = 200 };

/* What children leave for their parent. */
typedef struct shared {
  unsigned seed;                     /* of the program at work */
  char failure[MODEL_FAILURE_BYTES]; /* why it failed; empty: it did not, or was killed */
  model_tally tally;
} shared;

static shared *common;
static model_program drawn, shorter;
static char first_failure[MODEL_FAILURE_BYTES];

void model_count(const model *ran)
{
  if (!common)
    return;
  common->tally.programs++;
  common->tally.calls += ran->program->count;
  common->tally.served += ran->served;
  common->tally.followed += ran->followed;
  common->tally.reads += ran->device.reads;
}

void model_simply(const model_program *program)
{
  static model it;
  model_run(&it, program);
  model_count(&it);
}

/* Runs in a child process; whether it ended well. `is_quiet`: it says nothing. */
static bool run_apart(void (*run)(const void *argument), const void *argument, unsigned seconds,
                      bool is_quiet)
{
  int status = 0;
  (void)fflush(NULL);
  common->failure[0] = '\0';
  pid_t child = fork();
  ck_assert_int_ge(child, 0);
  if (child == 0) {
    if (is_quiet)
      (void)!freopen("/dev/null", "w", stderr);
    (void)alarm(clpt_is_on_valgrind() ? 20 * seconds : seconds);
    run(argument);
    exit(EXIT_SUCCESS);
  }
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM && !is_quiet)
    (void)fprintf(stderr, "it hangs: not done after %u seconds\n", seconds);
  return WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS;
}

typedef struct one {
  const model_program *program;
  model_way way;
} one;

static void run_one(const void *argument)
{
  const one *it = argument;
  it->way(it->program);
}

static bool holds(const model_program *program, model_way way, bool is_quiet)
{
  return run_apart(run_one, &(one){program, way}, HANG_SECONDS_OF_ONE, is_quiet);
}

bool model_holds(const model_program *program, model_way way)
{
  return holds(program, way, true);
}

/* --- shortening --- */

/* In the same way as the program did first. */
static bool still_fails(model_way way)
{
  if (model_holds(&shorter, way) || strcmp(common->failure, first_failure) != 0)
    return false;
  drawn = shorter;
  return true;
}

/* Leaves calls out, half of them at first and single ones in the end, as long as it still fails. */
static void leave_calls_out(model_way way)
{
  for (size_t part = drawn.count / 2; part > 0; part /= 2)
    for (size_t at = 0; at < drawn.count;) {
      size_t left_out = part < drawn.count - at ? part : drawn.count - at;
      shorter = drawn;
      shorter.count -= left_out;
      memmove(shorter.calls + at, shorter.calls + at + left_out,
              (shorter.count - at) * sizeof(shorter.calls[0]));
      if (!still_fails(way))
        at += part;
    }
}

static void simplify_config(model_way way)
{
  unsigned long *settings = (unsigned long *)(void *)&shorter.config;
  for (size_t i = 0; i < sizeof(model_config) / sizeof(*settings); i++) {
    shorter = drawn;
    if (settings[i] == 0)
      continue;
    settings[i] = 0;
    (void)still_fails(way);
  }
}

/* Shows what a program does wrong, as short as possible, and ends the test. */
static void report(unsigned seed, model_way way)
{
  (void)fprintf(stderr, "the program of seed %u fails:\n", seed);
  if (holds(&drawn, way, false))
    ck_abort_msg("the program of seed %u fails only after others (CLPT_SEED=%u)", seed, seed);
  (void)snprintf(first_failure, sizeof(first_failure), "%s", common->failure);
  leave_calls_out(way);
  simplify_config(way);
  leave_calls_out(way);
  (void)fprintf(stderr, "# shortened; to run it again, CLPT_PROGRAM=the file with these lines\n");
  model_program_print(&drawn, stderr);
  (void)fprintf(stderr, "# it fails like this:\n");
  (void)holds(&drawn, way, false);
  ck_abort_msg("a program does not hold (seed %u)", seed);
}

/* --- trying --- */

typedef struct batch {
  unsigned first, count;
  model_way way;
} batch;

static void run_batch(const void *argument)
{
  const batch *it = argument;
  for (unsigned i = 0; i < it->count; i++) {
    common->seed = it->first + i;
    model_draw(&drawn, common->seed);
    it->way(&drawn);
  }
}

static void try_file(const char *path, model_way way)
{
  FILE *file = fopen(path, "r");
  ck_assert_msg(file != NULL, "CLPT_PROGRAM=%s cannot be read", path);
  bool is_program = model_program_read(&drawn, file);
  (void)fclose(file);
  ck_assert_msg(is_program, "%s is no program", path);
  ck_assert_msg(holds(&drawn, way, false), "the program in %s does not hold", path);
}

static unsigned number_in(const char *variable, unsigned otherwise)
{
  const char *text = getenv(variable);
  return text ? (unsigned)strtoul(text, NULL, 10) : otherwise;
}

model_tally model_try(unsigned first, unsigned count, model_way way)
{
  model_tally tally = {0};
  const char *path = getenv("CLPT_PROGRAM");
  common = mmap(NULL, sizeof(*common), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ck_assert_ptr_ne(common, MAP_FAILED);
  model_failure = common->failure;
  first = number_in("CLPT_SEED", first);
  count = getenv("CLPT_SEED") ? 1 : number_in("CLPT_PROGRAMS", count);
  if (path)
    try_file(path, way);
  for (unsigned done = 0; !path && done < count; done += BATCH) {
    batch next = {first + done, count - done < BATCH ? count - done : BATCH, way};
    if (run_apart(run_batch, &next, HANG_SECONDS, false))
      continue;
    model_draw(&drawn, common->seed);
    report(common->seed, way);
  }
  tally = common->tally;
  (void)munmap(common, sizeof(*common));
  common = NULL;
  model_failure = NULL;
  return tally;
}
