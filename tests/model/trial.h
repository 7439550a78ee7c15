/* SPDX-License-Identifier: MIT */
/* Tries programs in child processes, and shortens one that fails. */
#ifndef CLPT_MODEL_TRIAL_H
#define CLPT_MODEL_TRIAL_H

#include "model/model.h"

/** A kind of trial: how a program is drawn from a seed and tried, which may take many runs with
 * other settings each; and how it is run again with the settings that failed. They call
 * model_run_once. */
typedef struct model_trial {
  void (*draw)(model_program *program, unsigned seed);
  void (*try)(model_program *program);
  void (*run)(model_program *program);
} model_trial;

/** What trials did, all together. */
typedef struct model_tally {
  unsigned long programs, runs, calls, reads;
  unsigned long faults;        /* runs in which the device failed on purpose */
  unsigned long served, freed; /* held blocks that served, and that went back to the device */
  unsigned long repeated;      /* blocks that loops of arenas placed */
} model_tally;

/** Tries the programs of the seeds [first, first + count). One that fails is shortened and written
 * to stderr, and the test that calls this fails. In the environment, CLPT_SEED=N: that seed alone;
 * CLPT_PROGRAMS=N: so many seeds. */
model_tally model_try(unsigned first, unsigned count, const model_trial *trial);

/** Whether the environment names the seeds, so that one test of several is enough. */
bool model_has_choice(void);

/** Runs the program once, in this process. */
void model_run_once(model_program *program);

/** Counts a run that met a failure of host memory in the tally. */
void model_count_fault(bool has_failed);

/** The run that model_run_once made last in this process. */
const model *model_last_run(void);

/** Whether the program holds; it runs in a process of its own and says nothing. */
bool model_holds(model_program *program);

#endif
