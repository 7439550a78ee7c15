/* SPDX-License-Identifier: MIT */
/* Fuzzes PyTorch's snapshots; and JSON, of which the tokens and their places must not depend on the
 * pieces in which it is read. */
#include "fuzz.h"
#include "reading.h"

#include "trace/json.h"

/* FNV-1a, over all that was told. */
typedef struct digest {
  uint64_t hash;
  uint64_t line; /* of the token before */
  size_t column;
} digest;

static void add(digest *to, const void *bytes, size_t length)
{
  const uint8_t *byte = bytes;
  for (size_t i = 0; i < length; i++)
    to->hash = (to->hash ^ byte[i]) * UINT64_C(1099511628211);
}

static clp_status hear(const clpi_json_token *token, void *user_data)
{
  digest *heard = user_data;
  bool is_later =
      token->line > heard->line || (token->line == heard->line && token->column > heard->column);
  fuzz_require(is_later);
  fuzz_require(token->depth < CLPI_JSON_DEPTH_MAX + 1);
  heard->line = token->line;
  heard->column = token->column;
  add(heard, &token->kind, sizeof token->kind);
  add(heard, &token->depth, sizeof token->depth);
  add(heard, &token->line, sizeof token->line);
  add(heard, &token->column, sizeof token->column);
  add(heard, token->text, token->length);
  return CLP_SUCCESS;
}

static uint64_t read_in_pieces(const uint8_t *input, size_t length, size_t piece_bytes)
{
  clpi_input *source = NULL;
  clpi_json *json = NULL;
  digest heard = {.hash = UINT64_C(14695981039346656037)};
  bool at_end = false;
  clp_status status = CLP_SUCCESS;
  fuzz_require(clpi_input_open_descriptor(fuzz_file(input, length), "fuzzed", &source) ==
               CLP_SUCCESS);
  fuzz_require(clpi_json_open(source, piece_bytes, hear, &heard, &json) == CLP_SUCCESS);
  while (status == CLP_SUCCESS && !at_end)
    status = clpi_json_read(json, &at_end);
  fuzz_require(status == CLP_SUCCESS || status == CLP_INVALID_ARGUMENT || status == CLP_IO_ERROR);
  clpi_json_close(json);
  add(&heard, &status, sizeof status);
  return heard.hash;
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t length)
{
  uint64_t whole = read_in_pieces(input, length, CLPI_JSON_PIECE_MAX);
  fuzz_require(read_in_pieces(input, length, 1) == whole);
  fuzz_require(read_in_pieces(input, length, 7) == whole);
  fuzz_reading(input, length, CLPI_TRACE_PYTORCH_SNAPSHOT);
  return 0;
}
