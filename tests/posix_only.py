"""Modules and signals that Windows lacks: None there, where the tests that use them carry the marker ``posix``."""

import signal

try:
    import fcntl
    import resource
except ImportError:
    fcntl = resource = None

SIGKILL = getattr(signal, "SIGKILL", None)
