/* SPDX-License-Identifier: MIT */
/* The cases of stream order. The end of each sees that every buffer has what was written last, and
 * that every read found what it should; steps that take a block see that the host did not wait. */
#ifndef CLPT_ORDER_CASES_H
#define CLPT_ORDER_CASES_H

/* clang-format off */
enum { S = CLPT_S, T = CLPT_T, U = CLPT_U, H = CLPT_H };
#define WITH(flags) (1U << (flags))
enum { NONE = WITH(0), LOOKING = WITH(LOOKS), BOTH = WITH(EITHER), WAITING = WITH(WAITS) | BOTH,
       ANY = LOOKING | WAITING, ALL = NONE | ANY };

/* The stream's work is held up from now on; it goes on, and is finished. */
#define GATE(s) {.act = gate_stream, .stream = s}
#define OPEN(s) {.act = open_stream, .stream = s}
/* The stream waits for one that is held up (when); else it can be finished. */
#define HELD_UP(s, w) {.act = see_held_up, .stream = s, .when = w}
/* A buffer, used on the stream: whichever, a new one, the block of `b` with so many waits or else
 * a new one, and the same for a block whose work is done. UNORDERED names no stream. */
#define TAKES(how, x, s, b, w, n, u) \
    {.act = how, .buffer = x, .stream = s, .other = b, .when = w, .count = n, .unordered = u}
#define TAKE(x, s) TAKES(take, x, s, x, ANYHOW, 0, false)
#define TAKE_UNORDERED(x, s) TAKES(take, x, s, x, ANYHOW, 0, true)
#define NEW(x, s) TAKES(take, x, s, x, NEVER, 0, false)
#define NEW_UNORDERED(x, s) TAKES(take, x, s, x, NEVER, 0, true)
#define GETS(x, s, b, w, n) TAKES(take, x, s, b, w, n, false)
#define GETS_UNORDERED(x, s, b, w, n) TAKES(take, x, s, b, w, n, true)
#define GETS_DONE(x, s, b, w) TAKES(take_done, x, s, b, w, 0, false)
#define USE(x, s) {.act = use, .buffer = x, .stream = s}
/* The second stream reads what the first has written. */
#define SHARE(x, s, t) \
    {.act = order, .stream = t, .other = s}, {.act = read_buffer, .buffer = x, .stream = t}
#define RECORD(x, s) {.act = record_use, .buffer = x, .stream = s}
#define SHARE_RECORDED(x, s, t) SHARE(x, s, t), RECORD(x, t)
#define RELEASE(x, s) {.act = release, .buffer = x, .stream = s}
#define RELEASE_UNORDERED(x) {.act = release, .buffer = x, .unordered = true}
#define HOLD(x, s) TAKE(x, s), RELEASE(x, s)
#define BIND(x, s) {.act = bind, .buffer = x, .stream = s}
#define UNBIND(x) {.act = unbind, .buffer = x}
/* Nothing is asked of the allocator between the two. */
#define CALM {.act = be_calm}
#define QUIET {.act = see_quiet}
/* Memory goes back. The host waits where nothing else orders that, if work is pending (when). */
#define GIVE_BACK(how, w) {.act = give_back, .count = how, .when = w}
/* The device refuses memory so often; the host then waited for work, in one reaction. */
#define REFUSE(n) {.act = refuse, .count = n}
#define WAITED {.act = see_waited}
/* The stream is given up and ends; another has its name, and maybe its address. */
#define FORGET(s) {.act = forget_stream, .stream = s}
#define DROP(s) {.act = drop_stream, .stream = s}

static const order_case cases[] = {
    /* --- to whom a block goes --- */
    {"its stream gets a block back, and nothing is called", IN_ORDER, ALL,
     {GATE(S), HOLD(X, S), CALM, GETS(Y, S, X, ALWAYS, 0), RELEASE(Y, S), GETS(Z, S, X, ALWAYS, 0),
      QUIET}},
    {"its stream gets a block back", 0, ALL,
     {GATE(S), HOLD(X, S), GETS(Y, S, X, OWN, 0)}},
    {"another stream gets a block and waits", 0, ALL,
     {GATE(S), HOLD(X, S), GETS(Y, T, X, WAITS, 1), HELD_UP(T, WAITS), OPEN(S), HELD_UP(T, NEVER)}},
    {"work that is done holds nothing up", 0, ALL,
     {HOLD(X, S), OPEN(S), GETS_DONE(Y, T, X, EITHER)}},
    {"it is the stream of the release that counts", 0, ALL,
     {GATE(S), TAKE(X, S), SHARE(X, S, T), RELEASE(X, T), GETS(Y, T, X, OWN, 0), RELEASE(Y, T),
      GETS(Z, S, Y, WAITS, 1)}},
    {"another stream waits for new memory that the home stream is to touch", HOME | NO_ARENA, ALL,
     {GATE(H), NEW(X, T), HELD_UP(T, HOME_USED)}},
    {"a block is waited for whose stream its user dropped", CAN_DROP, ALL,
     {GATE(S), HOLD(X, S), DROP(S), GETS(Y, T, X, WAITS, 1), HELD_UP(T, WAITS)}},

    /* --- uses that are noted --- */
    {"the stream of the release waits for the others", 0, ALL,
     {GATE(T), TAKE(X, S), SHARE_RECORDED(X, S, T), RELEASE(X, S), GETS(Y, S, X, WAITS, 1),
      HELD_UP(S, WAITS)}},
    {"a third stream waits for both", 0, ALL,
     {GATE(S), GATE(T), TAKE(X, S), SHARE_RECORDED(X, S, T), RELEASE(X, S), GETS(Y, U, X, WAITS, 2),
      HELD_UP(U, WAITS), OPEN(S), HELD_UP(U, WAITS), OPEN(T), HELD_UP(U, NEVER)}},
    {"use between the note and the release counts", 0, ALL,
     {TAKE(X, S), SHARE_RECORDED(X, S, T), OPEN(S), OPEN(T), GATE(T), SHARE(X, S, T), RELEASE(X, S),
      GETS(Y, S, X, WAITS, 1), HELD_UP(S, WAITS)}},
    {"use that is done is not waited for", 0, ANY,
     {TAKE(X, S), SHARE_RECORDED(X, S, T), RELEASE(X, S), OPEN(S), OPEN(T),
      GETS_DONE(Y, S, X, ALWAYS)}},
    {"notes count in an unordered release", NO_HOME, ALL,
     {GATE(T), TAKE_UNORDERED(X, S), SHARE_RECORDED(X, S, T), OPEN(S), RELEASE_UNORDERED(X),
      GETS(Y, U, X, WAITS, 1), HELD_UP(U, WAITS)}},

    /* --- without a stream: of the home stream --- */
    {"a warm pair of the home stream calls nothing", HOME | IN_ORDER, ALL,
     {TAKE_UNORDERED(X, H), RELEASE_UNORDERED(X), HOLD(Y, H), CALM,
      GETS_UNORDERED(Y, H, X, ALWAYS, 0), RELEASE(Y, H), GETS(Y, H, X, ALWAYS, 0),
      RELEASE_UNORDERED(Y), GETS_UNORDERED(Y, H, X, ALWAYS, 0), RELEASE_UNORDERED(Y), QUIET}},
    {"the home stream waits for another", HOME, ALL,
     {GATE(S), HOLD(X, S), GETS_UNORDERED(Y, H, X, WAITS, 1), HELD_UP(H, WAITS)}},
    {"another waits for the home stream", HOME, ALL,
     {TAKE_UNORDERED(X, H), OPEN(H), GATE(H), USE(X, H), RELEASE_UNORDERED(X),
      GETS(Y, T, X, WAITS, 1), HELD_UP(T, WAITS | HOME_USED)}},

    /* --- without a stream, and none is home: the user has synchronized --- */
    {"what was released unordered is anybody's", NO_HOME, ALL,
     {TAKE_UNORDERED(X, S), OPEN(S), RELEASE_UNORDERED(X), GETS(Y, T, X, ALWAYS, 0)}},
    {"a block whose stream is at work does not serve unordered", NO_HOME, ALL,
     {GATE(S), HOLD(X, S), NEW_UNORDERED(Y, T)}},

    /* --- bound --- */
    {"a bound buffer is released on its stream", 0, ALL,
     {GATE(S), TAKE(X, S), BIND(X, S), RELEASE_UNORDERED(X), GETS(Y, T, X, WAITS, 1),
      HELD_UP(T, WAITS)}},
    {"the new stream of a binding waits for the old", 0, ALL,
     {GATE(S), TAKE(X, S), BIND(X, S), BIND(X, T), USE(X, T), HELD_UP(T, ALWAYS), OPEN(S),
      HELD_UP(T, NEVER), GATE(T), USE(X, T), BIND(X, S), USE(X, S), HELD_UP(S, ALWAYS)}},
    {"unbinding waits on the host", 0, ALL,
     {GATE(S), TAKE(X, S), BIND(X, S), UNBIND(X), USE(X, U)}},

    /* --- memory that goes back --- */
    {"held memory is freed behind its stream", 0, ALL,
     {GATE(S), HOLD(X, S), GIVE_BACK(FREE, ALWAYS)}},
    {"held memory is trimmed behind its streams", 0, ALL,
     {GATE(S), GATE(T), TAKE(X, S), SHARE_RECORDED(X, S, T), SHARE_RECORDED(X, S, U), RELEASE(X, S),
      GIVE_BACK(TRIM, ALWAYS)}},
    {"a pool ends behind its streams", 0, ALL,
     {GATE(S), GATE(T), TAKE(X, S), SHARE_RECORDED(X, S, T), RELEASE(X, S),
      GIVE_BACK(END_POOL, ALWAYS)}},
    {"nobody waits for memory of a user who has synchronized", NO_HOME, ALL,
     {TAKE_UNORDERED(X, S), OPEN(S), RELEASE_UNORDERED(X), GIVE_BACK(FREE, NEVER)}},
    {"out of memory, work is waited for", NO_ARENA, NONE,
     {GATE(S), HOLD(X, S), REFUSE(2), TAKE(Y, T), WAITED}},

    /* --- streams that are given up --- */
    {"work of a stream that has ended is waited for", 0, ALL,
     {GATE(S), HOLD(X, S), FORGET(S), GETS(Y, T, X, WAITS, 1), HELD_UP(T, WAITS)}},
    {"memory of two of which one has ended goes back behind both", 0, ALL,
     {GATE(S), GATE(T), TAKE(X, S), SHARE_RECORDED(X, S, T), RELEASE(X, S), FORGET(S),
      GIVE_BACK(TRIM, ALWAYS)}},
};
/* clang-format on */

#endif
