# SPDX-License-Identifier: MIT
"""clpool in the place of pyopencl.tools' pools, for programs that one cannot edit."""

from __future__ import annotations

import clpool
from clpool import _set_up

_NAMES = (
    "DeferredAllocator",
    "ImmediateAllocator",
    "MemoryPool",
    "PooledBuffer",
    "SVMAllocator",
    "SVMPool",
    "PooledSVM",
)

_POSITIONAL = ("allocator", "leading_bits_in_bin_id")  # of pools


class patch:
    """Puts clpool's classes in the place of those of ``pyopencl.tools``, at once::

        clpool.patch()

    or, in a ``with`` statement, until its end. Names that a module has imported before
    (``from pyopencl.tools import MemoryPool``) stay what they were, so patch first. Keyword
    arguments are defaults for the pools that are made then, such as ``arena=True``.
    """

    def __init__(self, **options):
        if not _set_up.has_pyopencl:
            raise ImportError("pyopencl is not installed")
        import pyopencl.tools

        self._tools = pyopencl.tools
        self._before = {
            name: getattr(self._tools, name) for name in _NAMES if hasattr(self._tools, name)
        }
        for name in self._before:
            setattr(self._tools, name, _with_options(getattr(clpool, name), options))

    def undo(self) -> None:
        """Puts PyOpenCL's own classes back."""
        for name, own in self._before.items():
            setattr(self._tools, name, own)
        self._before = {}

    def __enter__(self):
        return self

    def __exit__(self, *exception) -> None:
        self.undo()


def _with_options(replacement, options):
    if not options or replacement not in (clpool.MemoryPool, clpool.SVMPool):
        return replacement

    class WithOptions(type):
        def __call__(cls, *args, **keywords):
            told = (*_POSITIONAL[: len(args)], *keywords)
            defaults = {name: options[name] for name in options if name not in told}
            return replacement(*args, **defaults, **keywords)

        def __instancecheck__(cls, pool):
            return isinstance(pool, replacement)

    # A class, since programs ask isinstance, and annotate with it.
    return WithOptions(replacement.__name__, (), {"__doc__": replacement.__doc__})
