/* SPDX-License-Identifier: MIT */
/* Included before every file of a core and a test that are built for helgrind, which knows neither
 * C11 atomics nor pthread_once. Here both become what they are, and tell it: it is not to look for
 * races on what is accessed atomically, and what was done before a release happens before what
 * follows the acquire that meets it. So nothing of clpool's need be suppressed, and the core need
 * not know of it.
 *
 * helgrind joins what all releases of an object told it, so it may see more order than there is,
 * never less. Fences it is not told of: who orders data by a fence alone would be reported. */
#ifndef CLPT_HELGRIND_H
#define CLPT_HELGRIND_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* Before an access to `bytes` at `place`, and after it. */
void clpt_before_access(const volatile void *place, size_t bytes, bool releases);
void clpt_after_access(const volatile void *place, bool acquires);

static inline bool clpt_acquires(memory_order order)
{
  return order != memory_order_relaxed && order != memory_order_release;
}

static inline bool clpt_releases(memory_order order)
{
  return order == memory_order_release || order == memory_order_acq_rel ||
         order == memory_order_seq_cst;
}

/* What the builtins of both gcc and clang take: a pointer to the same without _Atomic. */
#define CLPT_PLAIN(place) ((__typeof__(((void)0, *(place))) *)(place))

#define CLPT_ACCESS(place, releases, acquires, access)                                             \
  __extension__({                                                                                  \
    clpt_before_access((place), sizeof(*(place)), (releases));                                     \
    __auto_type clpt_value = (access);                                                             \
    clpt_after_access((place), (acquires));                                                        \
    clpt_value;                                                                                    \
  })
#define CLPT_MODIFY(place, order, access)                                                          \
  CLPT_ACCESS(place, clpt_releases(order), clpt_acquires(order), access)

#undef atomic_load_explicit
#define atomic_load_explicit(place, order)                                                         \
  CLPT_ACCESS(place, false, clpt_acquires(order), __atomic_load_n(CLPT_PLAIN(place), (order)))
#undef atomic_store_explicit
#define atomic_store_explicit(place, value, order)                                                 \
  (clpt_before_access((place), sizeof(*(place)), clpt_releases(order)),                            \
   __atomic_store_n(CLPT_PLAIN(place), (value), (order)))
#undef atomic_exchange_explicit
#define atomic_exchange_explicit(place, value, order)                                              \
  CLPT_MODIFY(place, order, __atomic_exchange_n(CLPT_PLAIN(place), (value), (order)))
#undef atomic_fetch_add_explicit
#define atomic_fetch_add_explicit(place, value, order)                                             \
  CLPT_MODIFY(place, order, __atomic_fetch_add(CLPT_PLAIN(place), (value), (order)))
#undef atomic_fetch_sub_explicit
#define atomic_fetch_sub_explicit(place, value, order)                                             \
  CLPT_MODIFY(place, order, __atomic_fetch_sub(CLPT_PLAIN(place), (value), (order)))
#undef atomic_fetch_or_explicit
#define atomic_fetch_or_explicit(place, value, order)                                              \
  CLPT_MODIFY(place, order, __atomic_fetch_or(CLPT_PLAIN(place), (value), (order)))
#undef atomic_fetch_and_explicit
#define atomic_fetch_and_explicit(place, value, order)                                             \
  CLPT_MODIFY(place, order, __atomic_fetch_and(CLPT_PLAIN(place), (value), (order)))
#undef atomic_compare_exchange_strong_explicit
#define atomic_compare_exchange_strong_explicit(place, expected, value, order, failed)             \
  CLPT_MODIFY(place, order,                                                                        \
              __atomic_compare_exchange_n(CLPT_PLAIN(place), (expected), (value), false, (order),  \
                                          (failed)))
#undef atomic_compare_exchange_weak_explicit
#define atomic_compare_exchange_weak_explicit(place, expected, value, order, failed)               \
  CLPT_MODIFY(place, order,                                                                        \
              __atomic_compare_exchange_n(CLPT_PLAIN(place), (expected), (value), true, (order),   \
                                          (failed)))

#undef atomic_load
#define atomic_load(place) atomic_load_explicit(place, memory_order_seq_cst)
#undef atomic_store
#define atomic_store(place, value) atomic_store_explicit(place, value, memory_order_seq_cst)
#undef atomic_exchange
#define atomic_exchange(place, value) atomic_exchange_explicit(place, value, memory_order_seq_cst)
#undef atomic_fetch_add
#define atomic_fetch_add(place, value) atomic_fetch_add_explicit(place, value, memory_order_seq_cst)
#undef atomic_fetch_sub
#define atomic_fetch_sub(place, value) atomic_fetch_sub_explicit(place, value, memory_order_seq_cst)

int clpt_once(pthread_once_t *control, void (*make)(void));
#define pthread_once(control, make) clpt_once((control), (make))

#endif
