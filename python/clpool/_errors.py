# SPDX-License-Identifier: MIT
"""Statuses of libclpool as exceptions that PyOpenCL's users catch already."""

from __future__ import annotations

import builtins

try:
    import pyopencl as cl
except ImportError:
    cl = None

_MEM_OBJECT_ALLOCATION_FAILURE = -4


class _NoPyOpenCL:
    """What the exceptions derive from where there is no PyOpenCL."""

    class Error(Exception):
        pass

    class MemoryError(Error):
        pass

    class LogicError(Error):
        pass

    class RuntimeError(Error):
        pass


_base = _NoPyOpenCL if cl is None else cl


class Error(_base.Error):
    """A failure in clpool.

    ``status`` is libclpool's, such as ``"CLP_BUSY"``; ``native_code`` the backend's own (cl_int,
    CUresult, errno), 0 where there is none; ``str()`` a sentence with the figures that matter.
    PyOpenCL's ``code``, ``routine``, ``what`` and ``is_out_of_memory()`` are there, too.
    """

    status = "CLP_SUCCESS"
    native_code = 0
    message = ""

    def __str__(self) -> str:
        return self.message or super().__str__()


class MemoryError(Error, _base.MemoryError):
    """There is no memory, of the device or the host."""

    def is_out_of_memory(self) -> bool:
        return True


class LimitExceeded(MemoryError):
    """The pool's limit leaves no room."""


class LogicError(Error, _base.LogicError):
    """An argument is wrong, or the object was released."""


class RuntimeError(Error, _base.RuntimeError, builtins.RuntimeError):
    """What went wrong lies outside of the program."""


class NotSupported(RuntimeError):
    """This device, driver or allocator cannot do that."""


_classes = {
    1: LogicError,
    2: MemoryError,
    3: MemoryError,
    4: LimitExceeded,
    5: NotSupported,
    6: LogicError,
}


def make(status: int, native_code: int, name: str, message: str) -> Error:
    """The exception for a status of libclpool's."""
    error_class = _classes.get(status, RuntimeError)
    code = native_code
    if code == 0 and issubclass(error_class, MemoryError):
        code = _MEM_OBJECT_ALLOCATION_FAILURE
    argument: object = message
    if cl is not None and hasattr(cl._cl, "_ErrorRecord"):
        argument = cl._cl._ErrorRecord(message, code, "clpool")
    error = error_class(argument)
    error.status = name
    error.native_code = native_code
    error.message = message
    return error
