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
    arguments are defaults for the pools that are made then, such as ``arena=True``. Of several
    patches, the last one that was not undone counts.
    """

    _in_place: list[patch] = []
    _own: dict = {}  # PyOpenCL's classes, while there is any in place

    def __init__(self, **options):
        if not _set_up.has_pyopencl:
            raise ImportError("pyopencl is not installed")
        import pyopencl.tools

        self._tools = pyopencl.tools
        names = [name for name in _NAMES if hasattr(self._tools, name)]
        if not self._in_place:
            self._own.update({name: getattr(self._tools, name) for name in names})
        self._classes = {name: _with_options(getattr(clpool, name), options) for name in names}
        self._in_place.append(self)
        self._put()

    def _put(self) -> None:
        """Puts the classes of the last patch in place, or PyOpenCL's own."""
        classes = self._in_place[-1]._classes if self._in_place else self._own
        for name, replacement in classes.items():
            setattr(self._tools, name, replacement)

    def undo(self) -> None:
        """Ends this patch: with the last of them, PyOpenCL's own classes are back."""
        if self in self._in_place:
            self._in_place.remove(self)
            self._put()

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
