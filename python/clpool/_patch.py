# SPDX-License-Identifier: MIT
"""clpool in the place of pyopencl.tools' pools, for programs that one cannot edit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import clpool
from clpool import _set_up

if TYPE_CHECKING:
    from typing_extensions import Self

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
    _own: dict[str, type] = {}  # PyOpenCL's classes, while there is any in place

    def __init__(self, **options: Any) -> None:
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

    def __repr__(self) -> str:
        return f"<clpool.patch{'' if self in self._in_place else ' (undone)'}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.undo()


def _with_options(replacement: type, options: dict[str, Any]) -> type:
    if not options or replacement not in (clpool.MemoryPool, clpool.SVMPool):
        return replacement

    def told(arguments: tuple[Any, ...], keywords: dict[str, Any]) -> dict[str, Any]:
        own = (*_POSITIONAL[: len(arguments)], *keywords)
        return {**{name: options[name] for name in options if name not in own}, **keywords}

    class OfPatch(type):
        """Makes and knows pools of the plain class, and otherwise those of classes derived from
        the one below."""

        def __call__(cls, *arguments: Any, **keywords: Any) -> Any:
            if cls is made:
                return replacement(*arguments, **told(arguments, keywords))
            return super().__call__(*arguments, **keywords)

        def __instancecheck__(cls, pool: object) -> bool:
            return isinstance(pool, replacement) if cls is made else super().__instancecheck__(pool)

    def __init__(self: Any, *arguments: Any, **keywords: Any) -> None:
        replacement.__init__(self, *arguments, **told(arguments, keywords))

    members = {"__doc__": replacement.__doc__, "__init__": __init__, "__module__": "clpool"}
    made = OfPatch(replacement.__name__, (replacement,), members)
    return made
