/* SPDX-License-Identifier: MIT */
/* The map of addresses, against a plain array. */
#include "core/base/map.h"
#include "support/chance.h"
#include "support/failmalloc.h"
#include "support/suite.h"

enum { PLACES = 4096, MANY = 3000 };

static clpi_map map;

static void setup(void)
{
  map = (clpi_map){0};
}

static void teardown(void)
{
  clpi_map_end(&map);
}

/* How keys lie: as devices' memory does, aligned, side by side and with gaps; one by one; in the
 * high bits alone. */
static uint64_t key_of(int kind, size_t place)
{
  const uint64_t keys[] = {UINT64_C(0x7f0000000000) + place * 512 +
                               (place % 3) * ((uint64_t)1 << 40),
                           (uint64_t)place + 1, (uint64_t)(place + 1) << 51, UINT64_MAX - place};
  return keys[kind];
}

static void put(uint64_t key, uint64_t value)
{
  ck_assert(clpi_map_reserve(&map));
  clpi_map_put(&map, key, value);
}

START_TEST(any_order_gives_what_an_array_gives)
{
  static uint64_t values[PLACES]; /* 0: not in the map */
  clpt_chance chance = clpt_chance_seed((unsigned)_i + 1);
  unsigned rounds = clpt_iterations(200000);
  size_t count = 0;

  memset(values, 0, sizeof(values));
  for (unsigned i = 0; i < rounds; i++) {
    size_t place = (size_t)clpt_chance_below(&chance, PLACES);
    uint64_t key = key_of(_i, place), value = 0;
    const uint64_t *found = clpi_map_find(&map, key);
    ck_assert_uint_eq(found ? *found : 0, values[place]);
    ck_assert_int_eq(clpi_map_take(&map, key, &value), values[place] != 0);
    ck_assert_uint_eq(value, values[place]);
    values[place] = value ? 0 : i + 1;
    if (!value)
      put(key, values[place]);
    count += value ? (size_t)-1 : 1;
    ck_assert_uint_eq(map.count, count);
  }
  for (size_t place = 0; place < PLACES; place++) {
    uint64_t value = 0;
    ck_assert_int_eq(clpi_map_take(&map, key_of(_i, place), &value), values[place] != 0);
    ck_assert_uint_eq(value, values[place]);
  }
  ck_assert_uint_eq(map.count, 0);
}
END_TEST

START_TEST(promises_are_kept_without_host_memory)
{
  size_t more = 0;
  uint64_t value = 0;

  for (size_t i = 0; i < MANY; i++)
    ck_assert(clpi_map_reserve(&map));
  clpt_host_start(CLPT_HOST_STAYS_OUT, 0);
  while (clpi_map_reserve(&map))
    more++;
  for (size_t i = 0; i < MANY; i++)
    clpi_map_put(&map, key_of(0, i), i);
  bool was_in = clpi_map_take(&map, key_of(0, 7), &value);
  bool has_place = clpi_map_reserve(&map); /* for what may come back */
  bool has_two = clpi_map_reserve(&map);
  clpt_host_stop();
  ck_assert(was_in && has_place && !has_two);
  clpi_map_put(&map, key_of(0, 7), value);
  ck_assert_uint_eq(map.reserved, more);
  for (size_t i = 0; i < MANY; i++)
    ck_assert_uint_eq(*clpi_map_find(&map, key_of(0, i)), i);
}
END_TEST

CLPT_SUITE("map")
{
  TCase *tests = clpt_case(suite, "map");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_loop_test(tests, any_order_gives_what_an_array_gives, 0, 4);
  tcase_add_test(tests, promises_are_kept_without_host_memory);
}
