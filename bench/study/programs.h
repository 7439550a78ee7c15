/* SPDX-License-Identifier: MIT */
/* The made-up programs. */
#ifndef STUDY_PROGRAMS_H
#define STUDY_PROGRAMS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Their names, NULL after the last. */
const char *study_program_name(size_t index);

/* Writes the trace of what a program takes and gives back, the same for the same seed. */
void study_program_write(size_t index, uint64_t seed, FILE *file);

#endif
