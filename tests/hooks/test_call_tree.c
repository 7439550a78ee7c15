/* SPDX-License-Identifier: MIT */
/* The tree of call stacks: each node once, whatever comes; as it was when host memory is out. */
#include "hooks/call_tree.h"
#include "support/chance.h"
#include "support/failmalloc.h"
#include "support/suite.h"

static clpi_call_tree started(void)
{
  clpi_call_tree tree;
  ck_assert(clpi_call_tree_init(&tree));
  return tree;
}

static uint32_t descend(clpi_call_tree *tree, uint32_t parent, uintptr_t key)
{
  uint32_t found = clpi_call_tree_find(tree, parent, key);
  if (found)
    return found;
  ck_assert(clpi_call_tree_reserve(tree, 1));
  return clpi_call_tree_add(tree, parent, key);
}

START_TEST(a_new_tree_is_a_root)
{
  clpi_call_tree tree = started();
  ck_assert_uint_eq(tree.count, 1);
  ck_assert_uint_eq(tree.nodes[0].depth, 0);
  ck_assert_uint_eq(tree.nodes[0].bytes.used, 0);
  ck_assert_uint_eq(clpi_call_tree_find(&tree, 0, 7), 0);
  clpi_call_tree_end(&tree);
}
END_TEST

START_TEST(a_node_is_its_parent_and_its_key)
{
  clpi_call_tree tree = started();
  uint32_t main_line = descend(&tree, 0, 7);
  uint32_t other_line = descend(&tree, 0, 8);
  uint32_t below = descend(&tree, main_line, 7);
  uint32_t beside = descend(&tree, other_line, 7);
  ck_assert_uint_eq(tree.count, 5);
  ck_assert_uint_ne(below, beside);
  ck_assert_uint_eq(tree.nodes[below].parent, main_line);
  ck_assert_uint_eq(tree.nodes[below].depth, 2);
  ck_assert_uint_eq(tree.nodes[below].key, 7);
  ck_assert_uint_eq(clpi_call_tree_find(&tree, 0, 7), main_line);
  ck_assert_uint_eq(clpi_call_tree_find(&tree, main_line, 7), below);
  ck_assert_uint_eq(clpi_call_tree_find(&tree, main_line, 8), 0);
  clpi_call_tree_end(&tree);
}
END_TEST

/* Stacks by chance, twice: the second time finds what the first one made, and adds nothing. */
START_TEST(what_is_there_is_found_however_large_the_tree)
{
  enum { DEPTH = 12, KEYS = 5 };
  unsigned rounds = clpt_iterations(20000);
  clpi_call_tree tree = started();
  uint32_t count = 0;
  for (unsigned pass = 0; pass < 2; pass++) {
    clpt_chance chance = clpt_chance_seed(1);
    for (unsigned i = 0; i < rounds; i++) {
      uint32_t node = 0;
      for (unsigned depth = 0; depth < DEPTH; depth++) {
        uint32_t parent = node;
        node = descend(&tree, parent, clpt_chance_below(&chance, KEYS) * 4096);
        ck_assert_uint_eq(tree.nodes[node].parent, parent);
        ck_assert_uint_lt(parent, node);
      }
      ck_assert_uint_eq(tree.nodes[node].depth, DEPTH);
    }
    ck_assert(pass == 0 || tree.count == count);
    count = tree.count;
  }
  ck_assert_uint_gt(count, rounds);
  clpi_call_tree_end(&tree);
}
END_TEST

START_TEST(a_copy_has_the_same_nodes)
{
  clpi_call_tree tree = started(), copy;
  uint32_t node = descend(&tree, descend(&tree, 0, 7), 8);
  tree.nodes[node].bytes = (clpi_profiled_bytes){10, 20};
  ck_assert(clpi_call_tree_copy(&copy, &tree));
  clpi_call_tree_clear(&tree);
  ck_assert_uint_eq(copy.count, 3);
  ck_assert_uint_eq(copy.nodes[node].key, 8);
  ck_assert_uint_eq(copy.nodes[node].bytes.acquired, 20);
  clpi_call_tree_end(&tree);
  clpi_call_tree_end(&copy);
}
END_TEST

START_TEST(a_cleared_tree_knows_nothing_and_needs_no_new_memory)
{
  clpi_call_tree tree = started();
  for (uintptr_t key = 1; key <= 1000; key++)
    descend(&tree, 0, key);
  tree.nodes[0].bytes.used = 5;
  clpi_call_tree_clear(&tree);
  ck_assert_uint_eq(tree.count, 1);
  ck_assert_uint_eq(tree.nodes[0].bytes.used, 0);
  for (uintptr_t key = 1; key <= 1000; key++)
    ck_assert_uint_eq(clpi_call_tree_find(&tree, 0, key), 0);
  clpt_host_start(CLPT_HOST_STAYS_OUT, 0);
  bool has_room = clpi_call_tree_reserve(&tree, 1000);
  clpt_host_stop();
  ck_assert(has_room);
  clpi_call_tree_end(&tree);
}
END_TEST

START_TEST(without_host_memory_a_tree_is_as_it_was)
{
  for (unsigned long nth = 0; nth < 2; nth++) {
    clpi_call_tree tree = started();
    for (uintptr_t key = 1; key < 64; key++)
      descend(&tree, 0, key);
    clpt_host_start(CLPT_HOST_FAILS_ONCE, nth);
    bool failed = !clpi_call_tree_reserve(&tree, 1);
    clpt_host_stop();
    ck_assert(failed);
    ck_assert_uint_eq(tree.count, 64);
    for (uintptr_t key = 1; key < 64; key++)
      ck_assert_uint_eq(clpi_call_tree_find(&tree, 0, key), key);
    ck_assert(clpi_call_tree_reserve(&tree, 1));
    ck_assert_uint_eq(clpi_call_tree_add(&tree, 0, 64), 64);
    clpi_call_tree_end(&tree);
  }
}
END_TEST

START_TEST(more_nodes_than_numbers_are_refused)
{
  clpi_call_tree tree = started();
  ck_assert(!clpi_call_tree_reserve(&tree, (size_t)1 << 32));
  ck_assert_uint_eq(tree.capacity, 1);
  clpi_call_tree_end(&tree);
}
END_TEST

START_TEST(a_tree_that_finds_no_host_memory_is_not_made)
{
  clpi_call_tree tree, copy;
  clpt_host_start(CLPT_HOST_STAYS_OUT, 0);
  bool made = clpi_call_tree_init(&tree);
  clpt_host_stop();
  ck_assert(!made);
  clpi_call_tree_end(&tree);
  tree = started();
  clpt_host_start(CLPT_HOST_STAYS_OUT, 0);
  made = clpi_call_tree_copy(&copy, &tree);
  clpt_host_stop();
  ck_assert(!made);
  clpi_call_tree_end(&tree);
}
END_TEST

CLPT_MAIN("call tree", clpt_run)
{
  TCase *nodes = clpt_case(suite, "nodes");
  tcase_add_test(nodes, a_new_tree_is_a_root);
  tcase_add_test(nodes, a_node_is_its_parent_and_its_key);
  tcase_add_test(nodes, what_is_there_is_found_however_large_the_tree);
  tcase_add_test(nodes, a_copy_has_the_same_nodes);
  tcase_add_test(nodes, a_cleared_tree_knows_nothing_and_needs_no_new_memory);
  TCase *host = clpt_case(suite, "host memory");
  tcase_add_test(host, without_host_memory_a_tree_is_as_it_was);
  tcase_add_test(host, more_nodes_than_numbers_are_refused);
  tcase_add_test(host, a_tree_that_finds_no_host_memory_is_not_made);
}
