"""Access the user's part of the Windows registry: strings below HKEY_CURRENT_USER."""

from __future__ import annotations

import sys
from typing import Protocol

from ozx.errors import UnsupportedError


class Registry(Protocol):
    """Registry strings by key and name, below HKEY_CURRENT_USER; the empty name is the default value of a key."""

    def get(self, key: str, name: str) -> str | None:
        """Return a registry value, or None."""

    def set(self, key: str, name: str, value: str) -> None:
        """Set a registry value; create its key if needed."""

    def delete(self, key: str, name: str) -> None:
        """Remove a registry value if it exists."""

    def has_key(self, key: str) -> bool:
        """Return whether a registry key exists."""

    def delete_key(self, key: str) -> None:
        """Remove a registry key with all below it."""

    def delete_if_empty(self, key: str) -> bool:
        """Remove a registry key without values and subkeys; return whether it was removed."""

    def notify_shell(self) -> None:
        """Request the Windows shell to reload its file associations."""


if sys.platform != "win32":

    def user_registry() -> Registry | None:
        """Return the user's registry; None on systems without a registry."""
        return None

else:
    import ctypes
    import winreg

    def user_registry() -> Registry | None:
        """Return the user's registry; None on systems without a registry."""
        return _UserRegistry()

    class _UserRegistry:
        def get(self, key: str, name: str) -> str | None:
            try:
                with winreg.OpenKey(winreg.HKEY_CURRENT_USER, key) as handle:
                    value, kind = winreg.QueryValueEx(handle, name)
            except FileNotFoundError:
                return None
            if kind not in (winreg.REG_SZ, winreg.REG_EXPAND_SZ):
                raise UnsupportedError(
                    f"expected a string in the registry at {key}\\{name}; found a value of type {kind}"
                )
            return str(value)

        def set(self, key: str, name: str, value: str) -> None:
            with winreg.CreateKey(winreg.HKEY_CURRENT_USER, key) as handle:
                winreg.SetValueEx(handle, name, 0, winreg.REG_SZ, value)

        def delete(self, key: str, name: str) -> None:
            try:
                with winreg.OpenKey(winreg.HKEY_CURRENT_USER, key, 0, winreg.KEY_SET_VALUE) as handle:
                    winreg.DeleteValue(handle, name)
            except FileNotFoundError:
                return

        def has_key(self, key: str) -> bool:
            try:
                winreg.OpenKey(winreg.HKEY_CURRENT_USER, key).Close()
            except FileNotFoundError:
                return False
            return True

        def delete_key(self, key: str) -> None:
            with winreg.OpenKey(winreg.HKEY_CURRENT_USER, key) as handle:
                below = [winreg.EnumKey(handle, number) for number in range(winreg.QueryInfoKey(handle)[0])]
            for name in below:
                self.delete_key(rf"{key}\{name}")
            winreg.DeleteKey(winreg.HKEY_CURRENT_USER, key)

        def delete_if_empty(self, key: str) -> bool:
            try:
                with winreg.OpenKey(winreg.HKEY_CURRENT_USER, key) as handle:
                    keys, values, _ = winreg.QueryInfoKey(handle)
                if not keys and not values:
                    winreg.DeleteKey(winreg.HKEY_CURRENT_USER, key)
            except FileNotFoundError:
                return True
            return not keys and not values

        def notify_shell(self) -> None:
            # SHCNE_ASSOCCHANGED, SHCNF_IDLIST
            ctypes.windll.shell32.SHChangeNotify(0x08000000, 0, None, None)
