"""Recreate locks in forked child processes, in which the thread that held a lock does not exist."""

from __future__ import annotations

import os
import weakref
from typing import Protocol


class _Holder(Protocol):
    def renew_locks(self) -> None: ...


_holders: weakref.WeakSet[_Holder] = weakref.WeakSet()


def renew_after_fork(holder: _Holder) -> None:
    """Call ``holder.renew_locks()`` in every forked child process while `holder` exists."""
    _holders.add(holder)


def _renew() -> None:
    for holder in list(_holders):
        holder.renew_locks()


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_renew)
