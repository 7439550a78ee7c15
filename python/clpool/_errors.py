# SPDX-License-Identifier: MIT
"""Statuses of libclpool as exceptions that PyOpenCL's users catch already."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyopencl as cl
else:
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


if TYPE_CHECKING:
    _base = cl
else:
    _base = _NoPyOpenCL if cl is None else cl


class _Record:
    """What PyOpenCL's exceptions carry, with the methods of PyOpenCL's own record, which cannot be
    pickled."""

    def __init__(self, message: str, code: int, is_memory: bool):
        self._values = message, code, is_memory

    def what(self) -> str:
        return self._values[0]

    def code(self) -> int:
        return self._values[1]

    def routine(self) -> str:
        return "clpool"

    def is_out_of_memory(self) -> bool:
        return self._values[2]

    def __repr__(self) -> str:
        return repr(self._values[0])


class Error(_base.Error):
    """A failure in clpool.

    ``status`` is libclpool's, such as ``"CLP_BUSY"``; ``native_code`` the backend's own (cl_int,
    CUresult, errno), 0 where there is none; ``str()`` a sentence with the figures that matter.
    PyOpenCL's ``code``, ``routine`` and ``what`` are there, too, with PyOpenCL and without. Errors
    can be pickled.
    """

    status = "CLP_SUCCESS"
    native_code = 0
    message = ""

    # Without it, inspect.signature finds none.
    def __init__(self, *args: object) -> None:
        super().__init__(*args)

    @property
    def what(self) -> _Record:  # type: ignore[override]
        made_by_clpool = self.args and isinstance(self.args[0], _Record)
        code = 0 if not self.is_out_of_memory() else _MEM_OBJECT_ALLOCATION_FAILURE
        own: _Record = self.args[0] if made_by_clpool else _Record(str(self), code, bool(code))
        return own

    @property
    def code(self) -> int:  # type: ignore[override]
        """PyOpenCL's: OpenCL's code, 0 if there is none."""
        return self.what.code()

    @property
    def routine(self) -> str:  # type: ignore[override]
        """PyOpenCL's: "clpool" here."""
        return self.what.routine()

    def is_out_of_memory(self) -> bool:
        """Whether memory is missing, of the device or the host, or a limit leaves no room."""
        return isinstance(self, MemoryError)

    def __str__(self) -> str:
        return self.message or Exception.__str__(self)


class MemoryError(Error, _base.MemoryError):  # pyright: ignore[reportIncompatibleVariableOverride]
    """There is no memory, of the device or the host."""


class LimitExceeded(MemoryError):
    """The pool's limit leaves no room."""


class LogicError(Error, _base.LogicError):  # pyright: ignore[reportIncompatibleVariableOverride]
    """An argument is wrong, or the object was released."""


class RuntimeError(  # pyright: ignore[reportIncompatibleVariableOverride]
    Error, _base.RuntimeError, builtins.RuntimeError
):
    """What went wrong lies outside of the program."""


class NotSupported(RuntimeError, builtins.NotImplementedError):
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
    error = error_class(_Record(message, code, issubclass(error_class, MemoryError)))
    error.status = name
    error.native_code = native_code
    error.message = message
    return error


def misuse(status: str, message: str) -> Error:
    """The exception for a call at the wrong moment."""
    return make({"CLP_BUSY": 7, "CLP_NOT_FOUND": 8}[status], 0, status, message)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an exception means that memory is missing: Python's, PyOpenCL's, or one of theirs."""
    if isinstance(error, (builtins.MemoryError, _base.MemoryError)):
        return True
    if not isinstance(error, _base.Error):
        return False
    return bool(error.is_out_of_memory())  # type: ignore[attr-defined]
