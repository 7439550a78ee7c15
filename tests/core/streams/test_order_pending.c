/* SPDX-License-Identifier: MIT */
/* Stream order: what a search costs beside very many blocks that streams still use. */
#include "core/streams/stream.h"

#include "support/late_rig.h"
#include "support/suite.h"

/* How often a use was looked at: clpi_use_is_settled_locked is wrapped. */
static size_t looks;
bool __real_clpi_use_is_settled_locked(const clpi_use *use, const clpi_stream *by);
bool __wrap_clpi_use_is_settled_locked(const clpi_use *use, const clpi_stream *by);

bool __wrap_clpi_use_is_settled_locked(const clpi_use *use, const clpi_stream *by)
{
  looks++;
  return __real_clpi_use_is_settled_locked(use, by);
}

enum { PENDING = 1000 };
static clp_buffer *buffers[PENDING];

static void take_all(clpt_late_rig *rig)
{
  for (size_t i = 0; i < PENDING; i++)
    clpt_ok(clp_pool_allocate_on(rig->pool, CLPT_LATE_BYTES, rig->s, &buffers[i]));
}

static void use_by_one(clpt_late_rig *rig)
{
  clpt_late_use(rig, buffers[0], rig->s);
  for (size_t i = 0; i < PENDING; i++)
    clpt_ok(clp_buffer_release_on(buffers[i], rig->s));
}

static void use_in_turns(clpt_late_rig *rig)
{
  clpt_late_use(rig, buffers[0], rig->s);
  clpt_late_use(rig, buffers[1], rig->t);
  for (size_t i = 0; i < PENDING; i++)
    clpt_ok(clp_buffer_release_on(buffers[i], i % 2 ? rig->t : rig->s));
}

static void use_by_both(clpt_late_rig *rig)
{
  clpt_late_use(rig, buffers[0], rig->s);
  clpt_late_share(rig, buffers[0], rig->s, rig->t);
  for (size_t i = 0; i < PENDING; i++) {
    clpt_ok(clp_buffer_record_use(buffers[i], rig->t));
    clpt_ok(clp_buffer_release_on(buffers[i], rig->s));
  }
}

static void (*const uses[])(clpt_late_rig *rig) = {use_by_one, use_in_turns, use_by_both};
enum { USES = sizeof(uses) / sizeof(uses[0]) };

/* For u, which gets a held block or a new one. */
static clp_buffer *take_and_count(clpt_late_rig *rig, bool held)
{
  enum { FEW = 20 };

  looks = 0;
  clp_buffer *buffer = (held ? clpt_late_take_held : clpt_late_take_new)(rig, rig->u);
  ck_assert_uint_le(looks, FEW);
  return buffer;
}

/* Each way of reuse, with each way of use: all pending, then all done. */
START_TEST(a_search_costs_by_the_streams_and_not_by_the_blocks)
{
  unsigned flags = (unsigned)(_i / USES);
  clpt_late_rig rig;

  clpt_late_rig_start(&rig, flags);
  take_all(&rig);
  uses[_i % USES](&rig);
  buffers[0] = take_and_count(&rig, flags & CLP_REUSE_INTERNAL_DEPENDENCIES);
  clpt_late_run_all(&rig.device);
  buffers[1] = take_and_count(&rig, flags != CLPT_REUSE_NEVER);
  clpt_ok(clp_buffer_release_on(buffers[0], rig.u));
  clpt_ok(clp_buffer_release_on(buffers[1], rig.u));
  clpt_late_rig_end(&rig);
}
END_TEST

CLPT_MAIN("pending blocks", clpt_run)
{
  tcase_add_loop_test(clpt_case(suite, "looks"),
                      a_search_costs_by_the_streams_and_not_by_the_blocks, 0,
                      CLPT_REUSE_CHOICES * USES);
}
