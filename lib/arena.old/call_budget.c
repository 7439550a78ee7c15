/* SPDX-License-Identifier: MIT */
#include "arena/call_budget.h"

/* Of the 64 that there may be beyond bins, the others are for blocks that fit nowhere although all
 * is spent. */
enum { BEYOND_BINS = 48, WORD_BITS = 64 };

void clpi_call_budget_init(clpi_call_budget *budget)
{
  *budget = (clpi_call_budget){.left = BEYOND_BINS};
}

void clpi_call_budget_begin_block(clpi_call_budget *budget, size_t bytes)
{
  size_t bin = clpi_bin_number(CLPI_BUDGET_BITS, bytes);
  if (++budget->live[bin] > budget->most_live[bin])
    budget->risen[bin / WORD_BITS] |= (uint64_t)1 << (bin % WORD_BITS);
}

void clpi_call_budget_end_block(clpi_call_budget *budget, size_t bytes)
{
  budget->live[clpi_bin_number(CLPI_BUDGET_BITS, bytes)]--;
}

static void earn(clpi_call_budget *budget, size_t bin)
{
  if (budget->live[bin] <= budget->most_live[bin])
    return;
  uint32_t earned = budget->live[bin] - budget->most_live[bin];
  budget->earned += earned;
  budget->left += earned;
  budget->bin_bytes += earned * clpi_bin_size(CLPI_BUDGET_BITS, bin);
  budget->most_live[bin] = budget->live[bin];
}

void clpi_call_budget_earn(clpi_call_budget *budget)
{
  for (size_t word = 0; word < CLPI_BUDGET_WORDS; word++)
    for (; budget->risen[word]; budget->risen[word] &= budget->risen[word] - 1)
      earn(budget, word * WORD_BITS + (size_t)__builtin_ctzll(budget->risen[word]));
}

void clpi_call_budget_spend(clpi_call_budget *budget)
{
  budget->left--;
}

bool clpi_call_budget_is_spent(const clpi_call_budget *budget)
{
  return budget->left <= 0;
}

double clpi_call_budget_part_left(const clpi_call_budget *budget)
{
  return budget->earned ? (double)budget->left / (double)budget->earned : (double)budget->left;
}
