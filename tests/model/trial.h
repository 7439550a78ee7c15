/* SPDX-License-Identifier: MIT */
/* Tries programs, each in a process of its own or many in one, and shortens one that fails. */
#ifndef CLPT_MODEL_TRIAL_H
#define CLPT_MODEL_TRIAL_H

#include "model/model.h"

/** How a program is tried: in a child process, which it may end. */
typedef void (*model_way)(const model_program *program);

/** What trials found, all together. */
typedef struct model_tally {
  unsigned long programs, calls, served, followed, reads;
} model_tally;

/** Tries the programs of the seeds [first, first + count). One that fails is shortened, and the
 * test that calls this ends with it as text. CLPT_SEED=N in the environment: only that one;
 * CLPT_PROGRAM=FILE: the program in that file, as it is; CLPT_PROGRAMS=N: as many instead of
 * `count`. */
model_tally model_try(unsigned first, unsigned count, model_way way);

/** Whether the program holds, in a process of its own; it says nothing. */
bool model_holds(const model_program *program, model_way way);

/** Adds what a run has done to the tally of model_try. */
void model_count(const model *ran);

/** Runs the program; a model_way. */
void model_simply(const model_program *program);

#endif
