# SPDX-License-Identifier: MIT
# Man pages and guides.

dist_man1_MANS = doc/clpool.1

dist_doc_DATA += doc/thread-cache.md
