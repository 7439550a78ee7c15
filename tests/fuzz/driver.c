/* SPDX-License-Identifier: MIT */
/* Runs a fuzz target without a fuzzer: on each file of its corpus, and on changes to it that are
 * the same in every run; FUZZ_CHANGES says how many (50). */
#include "fuzz.h"
#include "support/chance.h"

#include <dirent.h>
#include <limits.h>
#include <string.h>

enum { INPUT_MAX = 65536 };

/* Overwrites, cuts, or repeats a part; returns the new length. */
static size_t change(uint8_t *input, size_t length, clpt_chance *chance)
{
  if (length == 0)
    return 0;
  size_t place = (size_t)clpt_chance_below(chance, length);
  size_t part = 1 + (size_t)clpt_chance_below(chance, length - place);
  switch (clpt_chance_below(chance, 4)) {
  case 0:
    input[place] = (uint8_t)clpt_chance_next(chance);
    return length;
  case 1:
    input[place] ^= (uint8_t)(1u << clpt_chance_below(chance, 8));
    return length;
  case 2:
    memmove(input + place, input + place + part, length - place - part);
    return length - part;
  default:
    if (length + part > INPUT_MAX)
      return length;
    memmove(input + place + part, input + place, length - place);
    return length + part;
  }
}

/* The seed of the file at `path` as it is, and then further and further from it, back to it every
 * ten changes. */
static void try_seed(const char *path, unsigned long changes, clpt_chance *chance)
{
  static uint8_t seed[INPUT_MAX], input[INPUT_MAX];
  FILE *file = fopen(path, "rb");
  fuzz_require(file != NULL);
  size_t seed_length = fread(seed, 1, INPUT_MAX, file), length = 0;
  fclose(file);
  for (unsigned long i = 0; i <= changes; i++) {
    if (i % 10 == 0) {
      memcpy(input, seed, seed_length);
      length = seed_length;
    }
    (void)LLVMFuzzerTestOneInput(input, length);
    length = change(input, length, chance);
  }
}

int main(void)
{
  const char *source = getenv("top_srcdir"), *given = getenv("FUZZ_CHANGES");
  unsigned long changes = given ? strtoul(given, NULL, 10) : 50;
  char folder[PATH_MAX], path[PATH_MAX + NAME_MAX + 2];
  clpt_chance chance = clpt_chance_seed(1);
  unsigned seeds = 0;
  snprintf(folder, sizeof folder, "%s/tests/fuzz/corpus/%s", source ? source : ".", fuzz_corpus);
  DIR *files = opendir(folder);
  fuzz_require(files != NULL);
  for (struct dirent *file; (file = readdir(files)) != NULL;) {
    if (file->d_name[0] == '.')
      continue;
    snprintf(path, sizeof path, "%s/%s", folder, file->d_name);
    try_seed(path, changes, &chance);
    seeds++;
  }
  closedir(files);
  fuzz_require(seeds > 0);
  printf("%u seeds, and %lu changes of each\n", seeds, changes);
  return EXIT_SUCCESS;
}
