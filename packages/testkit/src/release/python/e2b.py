"""A client of the kind of Python's e2b package: httpx over HTTP/1.1 or, when `HTTP_VERSION` says so, HTTP/2; the same requests, the same names.

It has what the tests use, and is stricter: a body that breaks is an error of its own, as the transport reports it, and no question
about the health of the sandbox follows.
"""

import base64
import json
import os
import struct
from types import SimpleNamespace
from urllib.parse import quote

import httpx

ENVD_PORT = 49983
_IS_HTTP2 = os.environ.get("HTTP_VERSION") == "HTTP/2"


class SandboxException(Exception):
    pass


class TimeoutException(SandboxException):
    pass


class NotFoundException(SandboxException):
    pass


class CommandExitException(SandboxException):
    def __init__(self, result):
        super().__init__(f"Command exited with code {result.exit_code}")
        self.stdout, self.stderr, self.exit_code = result.stdout, result.stderr, result.exit_code


def _to_exception(code, message):
    kinds = {"unavailable": TimeoutException, "deadline_exceeded": TimeoutException, "not_found": NotFoundException}
    return kinds.get(code, SandboxException)(f"{code}: {message}")


_API_HEADERS = {"User-Agent": "e2b-python-sdk/2.27.0", "lang": "python", "publisher": "e2b", "package_version": "2.27.0"}
_RPC_HEADERS = {"User-Agent": "e2b-python-sdk/2.27.0", "Connect-Protocol-Version": "1"}
# Which of the two forms of create and connect the package uses depends on its release.
_PATH = "/v2/sandboxes" if os.environ.get("GENERATION") != "earlier" else "/sandboxes"
_EARLIER = {"timeout": 300, "secure": True, "allow_internet_access": True} if _PATH == "/sandboxes" else {}


def _api():
    base = os.environ.get("E2B_API_URL") or f"https://api.{os.environ['E2B_DOMAIN']}"
    return httpx.Client(base_url=base, headers={**_API_HEADERS, "X-API-KEY": os.environ["E2B_API_KEY"]}, timeout=60, http2=_IS_HTTP2)


def _call(method, path, body=None):
    with _api() as api:
        answer = api.request(method, path, json=body)
    if answer.status_code >= 400:
        kind = NotFoundException if answer.json()["code"] == 404 else SandboxException
        raise kind(f"{answer.status_code}: {answer.json()['message']}")
    return answer.json() if answer.content else None


class Sandbox:
    def __init__(self, reply):
        self.sandbox_id = reply["sandboxID"]
        self._domain = reply.get("domain") or os.environ.get("E2B_DOMAIN")
        headers = {"E2b-Sandbox-Id": self.sandbox_id, "E2b-Sandbox-Port": str(ENVD_PORT)}
        self.access_token = reply.get("envdAccessToken")
        if self.access_token:
            headers["X-Access-Token"] = self.access_token
        base = os.environ.get("E2B_SANDBOX_URL") or f"https://{self.get_host(ENVD_PORT)}"
        self._envd = httpx.Client(base_url=base, headers=headers, timeout=60, http2=_IS_HTTP2)
        self.commands = Commands(self._envd)
        self.files = Files(self._envd)

    @classmethod
    def create(cls, template="base", timeout=None, metadata=None, envs=None):
        given = {"timeout": timeout, "metadata": metadata, "envVars": envs}
        body = {"templateID": template, **_EARLIER, **{key: value for key, value in given.items() if value is not None}}
        return cls(_call("POST", _PATH, body))

    @classmethod
    def connect(cls, sandbox_id, timeout=300):
        return cls(_call("POST", f"{_PATH}/{sandbox_id}/connect", {"timeout": timeout}))

    @staticmethod
    def list(metadata=None):
        query = "&".join(f"{quote(key)}={quote(value)}" for key, value in (metadata or {}).items())
        return _call("GET", f"/v2/sandboxes?metadata={quote(query)}")

    def get_info(self):
        return _call("GET", f"/sandboxes/{self.sandbox_id}")

    def set_timeout(self, timeout):
        _call("POST", f"/sandboxes/{self.sandbox_id}/timeout", {"timeout": timeout})

    def pause(self):
        _call("POST", f"/sandboxes/{self.sandbox_id}/pause")

    def kill(self):
        try:
            _call("DELETE", f"/sandboxes/{self.sandbox_id}")
            return True
        except NotFoundException:
            return False

    def is_running(self):
        answer = self._envd.get("/health", timeout=5)
        if answer.status_code == 502:
            return False
        answer.raise_for_status()
        return True

    def get_host(self, port):
        return f"{port}-{self.sandbox_id}.{self._domain}"

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        self.kill()
        self._envd.close()


def _unary(envd, method, body, timeout=60):
    headers = {**_RPC_HEADERS, "Content-Type": "application/json", "Connect-Timeout-Ms": str(timeout * 1000)}
    answer = envd.post(f"/{method}", content=json.dumps(body), headers=headers)
    if answer.status_code != 200:
        raise _to_exception(answer.json()["code"], answer.json()["message"])
    return answer.json()


def _stream(envd, method, body, timeout=60, user=None):
    """Yields each message, and raises the error of the last envelope, if it has one."""
    content = json.dumps(body).encode()
    headers = {**_RPC_HEADERS, "Content-Type": "application/connect+json", "Keepalive-Ping-Interval": "50"}
    if timeout:
        headers["Connect-Timeout-Ms"] = str(timeout * 1000)
    if user:
        headers["Authorization"] = "Basic " + base64.b64encode(f"{user}:".encode()).decode()
    request = struct.pack(">BI", 0, len(content)) + content
    limits = httpx.Timeout(60, read=None)
    with envd.stream("POST", f"/{method}", content=request, headers=headers, timeout=limits) as answer:
        if answer.status_code != 200:
            failed = json.loads(answer.read())
            code = "unavailable" if answer.status_code in (429, 502, 503) else "unknown"
            raise _to_exception(code, failed["message"])
        kept = b""
        ended = False
        for chunk in answer.iter_raw():
            kept += chunk
            while len(kept) >= 5:
                flags, size = struct.unpack(">BI", kept[:5])
                if len(kept) < 5 + size:
                    break
                message, kept = json.loads(kept[5 : 5 + size]), kept[5 + size :]
                ended = bool(flags & 2)
                if not ended:
                    yield message
                elif "error" in message:
                    raise _to_exception(message["error"]["code"], message["error"].get("message", ""))
        if not ended:
            raise SandboxException("the stream ended without its last envelope")


class CommandHandle:
    def __init__(self, envd, events):
        self._envd, self._events = envd, events
        self.pid = next(events)["event"]["start"]["pid"]

    def wait(self, on_stdout=None, on_stderr=None):
        output = {"stdout": b"", "stderr": b""}
        for message in self._events:
            event = message["event"]
            for name, report in (("stdout", on_stdout), ("stderr", on_stderr)):
                if name in event.get("data", {}):
                    chunk = base64.b64decode(event["data"][name])
                    output[name] += chunk
                    if report:
                        report(chunk.decode(errors="replace"))
            if "end" in event:
                status = event["end"].get("exitCode", 0)
        result = SimpleNamespace(exit_code=status, **{name: value.decode() for name, value in output.items()})
        if status != 0:
            raise CommandExitException(result)
        return result

    def kill(self):
        selector = {"process": {"pid": self.pid}, "signal": "SIGNAL_SIGKILL"}
        _unary(self._envd, "process.Process/SendSignal", selector)


class Commands:
    def __init__(self, envd):
        self._envd = envd

    def run(self, cmd, background=False, envs=None, user=None, cwd=None, on_stdout=None, on_stderr=None, timeout=60):
        process = {"cmd": "/bin/bash", "args": ["-l", "-c", cmd], "envs": envs or {}}
        if cwd:
            process["cwd"] = cwd
        events = _stream(self._envd, "process.Process/Start", {"process": process, "stdin": False}, timeout, user)
        handle = CommandHandle(self._envd, events)
        return handle if background else handle.wait(on_stdout, on_stderr)

    def connect(self, pid, timeout=60):
        return CommandHandle(self._envd, _stream(self._envd, "process.Process/Connect", {"process": {"pid": pid}}, timeout))

    def list(self):
        return _unary(self._envd, "process.Process/List", {}).get("processes", [])


class Files:
    def __init__(self, envd):
        self._envd = envd

    def write(self, path, data):
        answer = self._envd.post("/files", params={"path": path}, files={"file": (path, data)})
        answer.raise_for_status()
        return answer.json()[0]

    def read(self, path):
        answer = self._envd.get("/files", params={"path": path})
        if answer.status_code == 404:
            raise NotFoundException(answer.json()["message"])
        answer.raise_for_status()
        return answer.text

    def list(self, path):
        return _unary(self._envd, "filesystem.Filesystem/ListDir", {"path": path, "depth": 1})["entries"]

    def exists(self, path):
        try:
            _unary(self._envd, "filesystem.Filesystem/Stat", {"path": path})
            return True
        except NotFoundException:
            return False

    def remove(self, path):
        _unary(self._envd, "filesystem.Filesystem/Remove", {"path": path})

    def watch_dir(self, path):
        made = _unary(self._envd, "filesystem.Filesystem/CreateWatcher", {"path": path})
        return WatchHandle(self._envd, made["watcherId"])


class WatchHandle:
    def __init__(self, envd, watcher_id):
        self._envd, self._id = envd, watcher_id

    def get_new_events(self):
        return _unary(self._envd, "filesystem.Filesystem/GetWatcherEvents", {"watcherId": self._id}).get("events", [])

    def stop(self):
        _unary(self._envd, "filesystem.Filesystem/RemoveWatcher", {"watcherId": self._id})
