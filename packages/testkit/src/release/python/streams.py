"""A hundred streams of HTTP/2 at a time on one connection, to the agent and to a port. Prints what was seen, as JSON."""

import asyncio
import json

import httpx
from e2b import ENVD_PORT, Sandbox

STREAMS = 100


async def exchange(client, number):
    """Writes a file of its own size and reads it back, then asks the server of the program."""
    content = bytes([number]) * (1 + number * 1000)
    params = {"path": f"/tmp/{number}"}
    written = await client.post("/files", params=params, files={"file": (str(number), content)})
    written.raise_for_status()
    read = await client.get("/files", params=params)
    return read.http_version, read.content == content


async def count_open(client):
    """Opens streams that stay open, all at the same time, and ends them."""
    body = json.dumps({"process": {"cmd": "/bin/cat"}, "stdin": True}).encode()
    headers = {"Content-Type": "application/connect+json", "Connect-Protocol-Version": "1"}
    content = b"\0" + len(body).to_bytes(4, "big") + body
    started = 0
    everyone = asyncio.Event()

    async def run():
        nonlocal started
        async with client.stream("POST", "/process.Process/Start", content=content, headers=headers) as answer:
            async for _first in answer.aiter_raw():
                break
            started += 1
            if started == STREAMS:
                everyone.set()
            await everyone.wait()

    await asyncio.gather(*(run() for _ in range(STREAMS)))
    return started


async def main():
    with Sandbox.create(timeout=600) as sandbox:
        headers = {"X-Access-Token": sandbox.access_token}
        limits = httpx.Limits(max_connections=1)
        base = f"https://{sandbox.get_host(ENVD_PORT)}"
        async with httpx.AsyncClient(http2=True, base_url=base, headers=headers, timeout=60, limits=limits) as client:
            exchanged = await asyncio.gather(*(exchange(client, number) for number in range(STREAMS)))
            opened = await count_open(client)
            after = await client.get("/health")
        print(
            json.dumps(
                {
                    "versions": sorted({version for version, _ in exchanged}),
                    "same": sum(same for _, same in exchanged),
                    "open": opened,
                    "after": after.status_code,
                }
            )
        )


asyncio.run(main())
