"""Runs a program whose names below `E2B_DOMAIN` are this host: python3 on_loopback.py PROGRAM ARGUMENTS."""

import os
import runpy
import socket
import sys

_look_up = socket.getaddrinfo
_DOMAIN = os.environ["E2B_DOMAIN"].split(":")[0]


def _resolve(host, *arguments, **options):
    name = host.decode() if isinstance(host, bytes) else host
    is_below = name == _DOMAIN or name.endswith("." + _DOMAIN)
    return _look_up("127.0.0.1" if is_below else host, *arguments, **options)


socket.getaddrinfo = _resolve
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
