/* SPDX-License-Identifier: MIT */
/* Made-up stacks and names. */
#include "profiles.h"

#include "suite.h"

#include <stdio.h>

static _Thread_local struct {
  const uintptr_t *addresses;
  size_t count;
} stack;
static const clpt_name *known;
atomic_size_t clpt_open_sessions, clpt_lookups;

void clpt_set_stack(const uintptr_t *addresses, size_t count)
{
  stack.addresses = addresses;
  stack.count = count;
}

void clpt_walk(clpi_frame_visitor *visitor, void *argument)
{
  for (size_t i = stack.count; i > 0; i--)
    visitor(stack.addresses[i - 1], argument);
}

void clpt_set_names(const clpt_name *names)
{
  known = names;
}

/* Without Check's assertions, which need host memory: tests take that away. */

static clp_status open_session(void **session)
{
  *session = NULL;
  clpt_open_sessions++;
  return CLP_SUCCESS;
}

static void close_session(void *session)
{
  (void)session;
  clpt_open_sessions--;
}

static clp_status show(void *session, uintptr_t address, clpi_symbol_visitor *visitor,
                       void *argument)
{
  const clpt_name *name = known;
  clp_status status = CLP_SUCCESS;
  (void)session;
  clpt_lookups++;
  while (name && name->address && name->address != address)
    name++;
  if (!name || !name->address) {
    clpi_symbol symbol = {
        .file = "p.c", .line = (int)address, .function = "f", .object = "p", .offset = address};
    return visitor(&symbol, argument);
  }
  for (; name->address == address && !status; name++)
    status = visitor(&name->symbol, argument);
  return status;
}

const clpi_symbols clpt_symbols = {open_session, show, close_session};

clp_line_profile *clpt_profile(unsigned max_depth)
{
  clp_line_profile *profile;
  clpt_ok(clp_line_profile_create(max_depth, &profile));
  profile->walk = clpt_walk;
  profile->symbols = &clpt_symbols;
  return profile;
}

void clpt_take(clp_line_profile *profile, size_t used, size_t acquired)
{
  const clp_hook *hook = clp_line_profile_hook(profile);
  clp_hook_event event = {.size = used, .mem_size = used};
  hook->malloc_preprocess(&event, hook->user_data);
  if (!acquired)
    return;
  event.mem_size = acquired;
  hook->alloc_preprocess(&event, hook->user_data);
}

static char *written(clp_line_profile *profile,
                     clp_status (*write)(clp_line_profile *profile, FILE *file))
{
  char *text = NULL;
  size_t length;
  FILE *file = open_memstream(&text, &length);
  ck_assert_ptr_nonnull(file);
  clpt_ok(write(profile, file));
  fclose(file);
  return text;
}

char *clpt_printed(clp_line_profile *profile)
{
  return written(profile, clp_line_profile_print);
}

char *clpt_folded(clp_line_profile *profile)
{
  return written(profile, clp_line_profile_write_folded);
}

void clpt_prints(clp_line_profile *profile, const char *expected)
{
  char *text = clpt_printed(profile);
  ck_assert_str_eq(text, expected);
  free(text);
}

void clpt_folds(clp_line_profile *profile, const char *expected)
{
  char *text = clpt_folded(profile);
  ck_assert_str_eq(text, expected);
  free(text);
}
