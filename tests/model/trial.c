/* SPDX-License-Identifier: MIT */
/* Tries programs in child processes, and shortens one that fails. */
#include "trial.h"

#include "support/suite.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Seconds until a program counts as hung, when it is tried and when it is run again; how many
 * programs one child runs; how many times a failing program is run to shorten it. */
enum { TRY_SECONDS = 100, RUN_SECONDS = 20, BATCH = 200, SHORTENINGS = 1000, HANGS = 8 };

/* What children leave for their parent. */
static struct {
  unsigned seed;              /* of the program at work */
  model_config config;        /* its settings */
  model_failure_note failure; /* why it failed; empty: it did not, or was killed */
  model_tally tally;
} * common;

static const model_trial *current; /* NULL: model_run_once */
static model_program drawn, shorter;
static model ran;
static char first_failure[MODEL_FAILURE_BYTES];
static unsigned shortenings_left;

static void share(void)
{
  if (common)
    return;
  common = mmap(NULL, sizeof(*common), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ck_assert_ptr_ne(common, MAP_FAILED);
  model_failure = &common->failure;
}

const model *model_last_run(void)
{
  return &ran;
}

void model_count_fault(bool has_failed)
{
  common->tally.faults += has_failed;
}

void model_run_once(model_program *program)
{
  common->config = program->config;
  model_run(&ran, program);
  common->tally.runs++;
  common->tally.faults += ran.device.faults > 0;
  common->tally.calls += program->count;
  common->tally.served += (unsigned long)ran.served;
  common->tally.freed += (unsigned long)ran.followed;
  common->tally.repeated += (unsigned long)ran.repeated;
  common->tally.reads += (unsigned long)ran.device.reads;
}

static void set_alarm(unsigned seconds)
{
  (void)alarm(clpt_is_on_valgrind() ? 20 * seconds : seconds);
}

/* Calls `run` in a child process; whether that ended well. A quiet one says nothing. */
static bool run_apart(void (*run)(model_program *program), model_program *program, bool is_quiet)
{
  int status = 0;
  (void)fflush(NULL);
  common->failure.text[0] = '\0';
  pid_t child = fork();
  ck_assert_int_ge(child, 0);
  if (child == 0) {
    (void)signal(SIGALRM, SIG_DFL); /* Check has a handler of its own */
    (void)setrlimit(RLIMIT_CORE, &(struct rlimit){0});
    if (is_quiet)
      (void)!freopen("/dev/null", "w", stderr);
    run(program);
    exit(EXIT_SUCCESS);
  }
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
    (void)snprintf(common->failure.text, MODEL_FAILURE_BYTES, "it hangs");
  if (!is_quiet && WIFSIGNALED(status))
    (void)fprintf(stderr, "signal %d: %s\n", WTERMSIG(status), common->failure.text);
  return status == 0;
}

static void run_one(model_program *program)
{
  set_alarm(RUN_SECONDS);
  model_checks_all = true;
  (current ? current->run : model_run_once)(program);
}

bool model_holds(model_program *program)
{
  share();
  return run_apart(run_one, program, true);
}

/* --- shortening --- */

/* Keeps the shorter program where it fails in the same way as the program did first. */
static bool still_fails(void)
{
  if (shortenings_left == 0)
    return false;
  shortenings_left--;
  if (run_apart(run_one, &shorter, true) || strcmp(common->failure.text, first_failure) != 0)
    return false;
  drawn = shorter;
  return true;
}

/* Leaves calls out, half of them at first and single ones in the end, as long as it still fails. */
static void leave_calls_out(void)
{
  for (size_t part = drawn.count / 2; part > 0; part /= 2)
    for (size_t at = 0; at < drawn.count;) {
      size_t left_out = part < drawn.count - at ? part : drawn.count - at;
      shorter = drawn;
      shorter.count -= left_out;
      memmove(shorter.calls + at, shorter.calls + at + left_out,
              (shorter.count - at) * sizeof(shorter.calls[0]));
      if (!still_fails())
        at += part;
    }
}

static void print(model_program *program)
{
  static const char *const settings[] = {
#define X(name) #name,
      MODEL_CONFIG(X)
#undef X
  };
  static const char *const verbs[] = {
#define X(name, often) #name,
      MODEL_VERBS(X)
#undef X
  };
  const unsigned long *values = (const unsigned long *)(void *)&program->config;
  (void)fprintf(stderr, "shortened:\n");
  for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
    if (values[i])
      (void)fprintf(stderr, "%s %lu\n", settings[i], values[i]);
  for (const model_call *call = program->calls; call < program->calls + program->count; call++)
    (void)fprintf(stderr, "%s: slot %u, pool %u, stream %d, value %zu\n", verbs[call->verb],
                  call->slot, call->pool, call->stream, call->value);
}

/* Shows what the drawn program does wrong, as short as possible, and ends the test. */
static void report(void)
{
  unsigned seed = common->seed;
  size_t end = common->failure.at + 1;
  drawn.config = common->config;
  (void)fprintf(stderr, "the program of seed %u fails:\n", seed);
  if (run_apart(run_one, &drawn, false))
    ck_abort_msg("seed %u holds by itself, and fails after others of the seeds before it", seed);
  (void)snprintf(first_failure, sizeof(first_failure), "%s", common->failure.text);
  shortenings_left = strcmp(first_failure, "it hangs") == 0 ? HANGS : SHORTENINGS;
  shorter = drawn;
  shorter.count = end < drawn.count ? end : drawn.count;
  (void)still_fails();
  leave_calls_out();
  print(&drawn);
  (void)run_apart(run_one, &drawn, false);
  ck_abort_msg("the program of seed %u fails: %s", seed, first_failure);
}

/* --- trying --- */

static unsigned batch_first, batch_count;

static void run_batch(model_program *program)
{
  for (unsigned i = 0; i < batch_count; i++) {
    set_alarm(TRY_SECONDS);
    common->seed = batch_first + i;
    current->draw(program, common->seed);
    current->try(program);
    common->tally.programs++;
  }
}

bool model_has_choice(void)
{
  return getenv("CLPT_SEED") || getenv("CLPT_PROGRAMS");
}

model_tally model_try(unsigned first, unsigned count, const model_trial *trial)
{
  unsigned end = clpt_number_in("CLPT_SEED", first) +
                 clpt_number_in("CLPT_PROGRAMS", getenv("CLPT_SEED") ? 1 : count);
  current = trial;
  share();
  for (batch_first = clpt_number_in("CLPT_SEED", first); batch_first < end; batch_first += BATCH) {
    batch_count = end - batch_first < BATCH ? end - batch_first : BATCH;
    if (run_apart(run_batch, &drawn, false))
      continue;
    trial->draw(&drawn, common->seed);
    report();
  }
  return common->tally;
}
