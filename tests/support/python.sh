#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs a test in Python; skipped where python3 is missing.
command -v python3 >/dev/null || { echo "skipped: python3 is missing" >&2; exit 77; }
exec python3 -B "$@"
