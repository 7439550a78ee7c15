/* SPDX-License-Identifier: MIT */
#include "account.h"

#include "core/base/bytes.h"
#include "core/base/error.h"
#include "dispatch.h"

#include <clpool/bin.h>
#include <stdint.h>
#include <string.h>
#include <sys/param.h>

enum { DEVICE_PART = 32, PEAK_PART = 4, SMALL_BYTES = 16 << 20 };

unsigned clpi_leading_bits = 4;
static char *limit, *hold; /* sizes, as they were set; NULL: not set */

_Thread_local bool clpi_account_passes_bound;

static size_t get(const atomic_size_t *bytes)
{
  return atomic_load_explicit(bytes, memory_order_relaxed);
}

static void raise_to(atomic_size_t *peak, size_t bytes)
{
  size_t before = get(peak);
  while (before < bytes && !atomic_compare_exchange_weak_explicit(
                               peak, &before, bytes, memory_order_relaxed, memory_order_relaxed))
    continue;
}

/* --- the bounds --- */

static bool read_size(const char *variable, char **size)
{
  size_t unused;
  const char *text = clpi_environment_text(variable);
  return !clpi_environment_bytes(variable, "", SIZE_MAX, &unused) &&
         (!text || (*size = strdup(text)));
}

bool clpi_bounds_read(void)
{
  bool are_right = !clpi_environment_number("CLPOOL_LAYER_LEADING_BITS", CLP_MAX_LEADING_BITS,
                                            &clpi_leading_bits) &&
                   read_size("CLPOOL_LAYER_LIMIT", &limit) && read_size("CLPOOL_LAYER_HOLD", &hold);
  if (!are_right)
    clpi_layer_complain("%s: nothing is pooled", clp_last_error()->message);
  return are_right;
}

static size_t bytes_of(const char *size, size_t device_bytes)
{
  size_t bytes = SIZE_MAX;
  if (size)
    (void)clp_bytes_parse(size, device_bytes, &bytes);
  return bytes;
}

void clpi_account_begin(clpi_account *account, size_t device_bytes)
{
  const size_t most = bytes_of(limit, device_bytes);
  account->limit_bytes = most ? most : SIZE_MAX;
  account->hold_bytes = bytes_of(hold, device_bytes);
  account->spare_bytes = device_bytes / DEVICE_PART;
}

static size_t bound_of(const clpi_account *account, size_t peak)
{
  return peak + MIN(account->spare_bytes, peak / PEAK_PART + SMALL_BYTES);
}

/* The most that the account may have with a new block of `bytes`. */
static size_t most_with(const clpi_account *account, size_t taken, size_t bytes)
{
  bool is_bare = clpi_account_passes_bound || account->hold_bytes != SIZE_MAX ||
                 taken <= get(&account->active_bytes);
  size_t peak = MAX(get(&account->peak_live_bytes), get(&account->live_bytes) + bytes);
  return is_bare ? account->limit_bytes : MIN(account->limit_bytes, bound_of(account, peak));
}

size_t clpi_account_excess(const clpi_account *account)
{
  const size_t taken = get(&account->taken_bytes), active = get(&account->active_bytes);
  const size_t held = taken - MIN(active, taken);
  if (account->hold_bytes != SIZE_MAX)
    return held - MIN(held, account->hold_bytes);
  const size_t most = bound_of(account, get(&account->peak_live_bytes));
  return MIN(held, taken - MIN(taken, most));
}

/* --- blocks and objects --- */

clp_status clpi_account_take(clpi_account *account, size_t bytes)
{
  size_t before = get(&account->taken_bytes);
  do {
    const size_t most = most_with(account, before, bytes);
    if (before > most || bytes > most - before)
      return clpi_error(CLP_LIMIT_EXCEEDED, 0, "%zu bytes would exceed the limit", bytes);
  } while (!atomic_compare_exchange_weak_explicit(&account->taken_bytes, &before, before + bytes,
                                                  memory_order_relaxed, memory_order_relaxed));
  return CLP_SUCCESS;
}

void clpi_account_add(clpi_account *account, size_t bytes, size_t block_bytes)
{
  atomic_fetch_add_explicit(&account->active_bytes, block_bytes, memory_order_relaxed);
  size_t before = atomic_fetch_add_explicit(&account->live_bytes, bytes, memory_order_relaxed);
  raise_to(&account->peak_live_bytes, before + bytes);
  raise_to(&account->peak_taken_bytes, get(&account->taken_bytes));
}

void clpi_account_drop(clpi_account *account, size_t bytes, size_t block_bytes)
{
  atomic_fetch_sub_explicit(&account->live_bytes, bytes, memory_order_relaxed);
  atomic_fetch_sub_explicit(&account->active_bytes, block_bytes, memory_order_relaxed);
}

void clpi_account_sum(clpi_account *sum, const clpi_account *account)
{
  for (int i = 0; i < 2; i++) {
    sum->served[i] += account->served[i];
    sum->fresh[i] += MIN(account->fresh[i], account->served[i]);
  }
  sum->taken_bytes += account->taken_bytes;
  sum->active_bytes += account->active_bytes;
  sum->peak_live_bytes += account->peak_live_bytes;
  sum->peak_taken_bytes += account->peak_taken_bytes;
}
