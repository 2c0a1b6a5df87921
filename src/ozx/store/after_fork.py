"""Recreate locks in forked child processes, in which the thread that held a lock does not exist."""

from __future__ import annotations

import os
import weakref
from typing import Any

# By identity: a holder may be compared by value.
_holders: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()


def renew_after_fork(holder: Any) -> None:
    """Call ``holder.renew_locks()`` in every forked child process while `holder` exists."""
    _holders[id(holder)] = holder


def _renew() -> None:
    for holder in list(_holders.values()):
        holder.renew_locks()


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_renew)
