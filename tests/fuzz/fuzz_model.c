/* SPDX-License-Identifier: MIT */
/* Fuzzes the public interface: the input is a random program (tests/model). Its first four bytes
 * are the seed that the configuration is drawn from; each further six are a call. */
#include "fuzz.h"
#include "model/model.h"

#include <string.h>

const char fuzz_corpus[] = "model";

enum { SEED_BYTES = 4, CALL_BYTES = 6, MOST_CALLS = 300 };

static model_call decode(const uint8_t *bytes)
{
  size_t value = (size_t)bytes[4] << 8 | bytes[5];
  return (model_call){.verb = (model_verb)(bytes[0] % MODEL_VERB_COUNT),
                      .slot = bytes[1] % MODEL_SLOTS,
                      .pool = bytes[2] % MODEL_POOLS,
                      .stream = bytes[3] % (MODEL_STREAMS + 1) - 1,
                      .value = value};
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t length)
{
  static model_program program;
  static model it;
  unsigned seed = 0;
  if (length < SEED_BYTES)
    return 0;
  memcpy(&seed, input, SEED_BYTES);
  model_draw(&program, seed);
  bool is_late = program.config.device == MODEL_LATE;
  program.count = 0;
  for (size_t at = SEED_BYTES; at + CALL_BYTES <= length && program.count < MOST_CALLS;
       at += CALL_BYTES) {
    model_call call = decode(input + at);
    bool needs_streams = model_needs_streams(call.verb);
    if (needs_streams && call.stream < 0)
      call.stream = 0;
    if (!is_late)
      call.stream = -1;
    if (is_late || !needs_streams)
      program.calls[program.count++] = call;
  }
  model_run(&it, &program);
  return 0;
}
