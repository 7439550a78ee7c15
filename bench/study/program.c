/* SPDX-License-Identifier: MIT */
/* Made-up programs: what they have in common, and how their traces are written. */
#include "program.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* --- chance --- */

/* Steele, Lea and Flood's SplitMix64. */
static uint64_t next_number(study_program *program)
{
  uint64_t z = program->chance += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

double study_unit(study_program *program)
{
  return (double)(next_number(program) >> 11) * 0x1p-53;
}

double study_between(study_program *program, double least, double most)
{
  return least + (most - least) * study_unit(program);
}

unsigned study_below(study_program *program, unsigned bound)
{
  return (unsigned)(next_number(program) % bound);
}

/* Log-normal, by Box and Muller. */
double study_spread(study_program *program, double median, double spread)
{
  double radius = sqrt(-2 * log(1 - study_unit(program)));
  return median * exp(spread * radius * cos(2 * acos(-1.0) * study_unit(program)));
}

/* --- blocks --- */

/* A row of the trace; the number stands for the address. */
static void write_row(const study_program *program, const char *action, study_block block)
{
  fprintf(program->file, "1,00:00:00.000000,%s,0x%" PRIx64 ",%zu,0\n", action, block.number,
          block.bytes);
}

study_block study_take(study_program *program, double bytes)
{
  study_block block = {++program->blocks, bytes < 1 ? 1 : (size_t)bytes};
  write_row(program, "allocate", block);
  return block;
}

void study_give(study_program *program, study_block block)
{
  write_row(program, "free", block);
}

void study_take_and_give(study_program *program, double bytes)
{
  study_give(program, study_take(program, bytes));
}

void study_keep(study_program *program, study_blocks *blocks, double bytes)
{
  blocks->at[blocks->count++] = study_take(program, bytes);
}

/* The last one takes its place. */
void study_give_any(study_program *program, study_blocks *blocks)
{
  study_block *block = &blocks->at[study_below(program, (unsigned)blocks->count)];
  study_give(program, *block);
  *block = blocks->at[--blocks->count];
}

void study_give_oldest(study_program *program, study_blocks *blocks)
{
  study_give(program, blocks->at[0]);
  memmove(blocks->at, blocks->at + 1, --blocks->count * sizeof *blocks->at);
}

void study_give_newest(study_program *program, study_blocks *blocks)
{
  study_give(program, blocks->at[--blocks->count]);
}

void study_give_all(study_program *program, study_blocks *blocks)
{
  while (blocks->count > 0)
    study_give_newest(program, blocks);
}
