# SPDX-License-Identifier: Apache-2.0
"""The reference for the HTTP row: the same requests with aiohttp alone. Usage: bare_aiohttp.py URL REQUESTS AT_ONCE."""

from __future__ import annotations

import asyncio
import sys

import aiohttp


async def main(url: str, requests: int, at_once: int) -> None:
    """Send the requests and read the answers."""
    numbers = iter(range(requests))

    async def work(session: aiohttp.ClientSession) -> None:
        for number in numbers:
            body = {"model": "m", "messages": [{"role": "user", "content": f"What is {number}?"}]}
            async with session.post(url, json=body) as reply:
                (await reply.json())["choices"][0]["message"]["content"]

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        await asyncio.gather(*(work(session) for _ in range(at_once)))


asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
