/* SPDX-License-Identifier: MIT */
/* The claim on a thread's cache, as lib/core/cache does it, on a machine with store buffers.
 *
 * One owner allocates and releases through its cache, and exchanges the block with the bin's depot,
 * which has a lock of its own; two other threads reclaim, and move what waits in a claimed cache to
 * the list or to the depot. One block goes about: it is in exactly one place, the cache, the depot,
 * the store's list, or with the owner's caller, and nobody may find it where it is not. The owner's
 * stores wait in a buffer and reach memory later, in order, as on x86 (TSO); its loads see its own
 * buffered stores first. The steps of the other side are sequentially consistent, which their lock
 * and seq_cst operations make them.
 *
 * -DWITHOUT_FENCE leaves the heavy fence out, -DWITHOUT_WAIT the wait for the owner to leave, and
 * -DWITHOUT_DEPOT_LOCK the lock of the depot: then the checker must find the block in two places,
 * which shows that it would.
 */
#ifndef ROUNDS
#define ROUNDS 3
#endif

bool lock = false;    /* the pool's */
bool busy = false;    /* as memory has it */
bool claimed = false;
bool cached = true;   /* the block is in the cache, as memory has it */
bool deposited = false; /* ... in the depot; guarded by depot_lock */
bool depot_lock = false;
bool stored = false;  /* ... on the store's list; guarded by lock */
bool handed = false;  /* ... the owner's caller's */
bool inside = false;  /* a reclaimer works on the cache */
bool owner_inside = false;

/* The owner's store buffer: what to set, to what. */
mtype = { BUSY, CACHED };
chan buffer = [4] of { mtype, bool };

active [1] proctype memory()
{
  mtype place;
  bool value;
end:
  do
  :: atomic {
       buffer ? place, value ->
       if
       :: place == BUSY -> busy = value
       :: place == CACHED -> cached = value
       fi
     }
  od
}

/* A locked instruction, and what membarrier makes every other thread do: the buffer runs empty. */
inline drain() { empty(buffer) }

inline lock_pool() { atomic { !lock -> lock = true } }
inline unlock_pool() { lock = false }

/* Locked instructions: who takes the lock sees memory, and what he stored before is there. */
inline lock_depot()
{
#ifndef WITHOUT_DEPOT_LOCK
  atomic { !depot_lock -> depot_lock = true }
#else
  skip
#endif
}
inline unlock_depot() { depot_lock = false }

/* The owner's own view of `cached`: it buffers at most one store to it while it is inside. */
bool own_cached;

inline check_one_place()
{
  assert(own_cached + deposited + stored + handed <= 1)
}

/* To the depot and back: the slot's count is stored after the depot has been unlocked. */
inline give_to_depot()
{
  drain(); lock_depot();
  deposited = true;
  drain(); unlock_depot();
  buffer ! CACHED, false;
  own_cached = false
}

inline take_from_depot()
{
  drain(); lock_depot();
  if
  :: deposited -> own_cached = true; buffer ! CACHED, true; deposited = false
  :: else -> skip
  fi;
  drain(); unlock_depot()
}

inline work_inside()
{
  /* Loads see memory, since the owner entered with nothing of its own on `cached` in the buffer or
   * with what it stored last: buffered stores of an earlier stay inside are forwarded. */
  owner_inside = true;
  assert(!inside);
  if
  :: buffer ?? [CACHED, true] -> own_cached = true
  :: buffer ?? [CACHED, false] -> own_cached = false
  :: else -> own_cached = cached
  fi;
  if
  :: own_cached && !handed -> buffer ! CACHED, false; own_cached = false; handed = true
  :: !own_cached && handed -> handed = false; buffer ! CACHED, true; own_cached = true
  :: own_cached && !handed -> give_to_depot()
  :: !own_cached && deposited -> take_from_depot()
  :: else -> skip
  fi;
  check_one_place();
  assert(!inside);
  owner_inside = false
}

inline slow_way()
{
  drain();
  lock_pool();
  own_cached = cached;
  check_one_place();
  if
  :: own_cached && !handed -> cached = false; handed = true
  :: !own_cached && stored && !handed -> stored = false; handed = true
  :: !own_cached && handed -> handed = false; cached = true
  :: else -> skip
  fi;
  unlock_pool()
}

active [1] proctype owner()
{
  byte round = 0;
  do
  :: round < ROUNDS ->
     buffer ! BUSY, true;           /* clpi_fence_light_set: no fence */
     if
     :: !claimed -> work_inside(); buffer ! BUSY, false
     :: claimed -> buffer ! BUSY, false; slow_way()
     fi;
     round++
  :: round < ROUNDS -> slow_way(); round++
  :: round >= ROUNDS -> break
  od
}

active [2] proctype reclaimer()
{
  byte round = 0;
  do
  :: round < ROUNDS ->
     lock_pool();
     claimed = true;
#ifndef WITHOUT_FENCE
     drain();                       /* clpi_fence_heavy */
#endif
#ifndef WITHOUT_WAIT
     !busy;
#endif
     inside = true;
     assert(!owner_inside);
     if
     :: cached -> cached = false; assert(!stored && !handed && !deposited); stored = true
     :: cached ->                   /* as of an outlet; the lock is for owners of other caches */
        lock_depot();
        assert(!stored && !handed && !deposited);
        deposited = true;
        unlock_depot();
        cached = false
     :: else -> skip
     fi;
     inside = false;
     claimed = false;
     /* clpi_store_list: no claim, but the depot's lock. */
     lock_depot();
     if
     :: deposited -> assert(!stored && !handed); d_step { deposited = false; stored = true }
     :: else -> skip
     fi;
     unlock_depot();
     unlock_pool();
     round++
  :: round >= ROUNDS -> break
  od
}
