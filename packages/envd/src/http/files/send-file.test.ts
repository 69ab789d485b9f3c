import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { createServer, type IncomingMessage, request, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { sendFile } from './send-file.ts';

const content = randomBytes(20_000_000);
let dir: string;
let server: Server;
let sent: Promise<number>[];

/** Answers each request with the range that its path names, from a file that may be shorter than that. */
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'send-file-'));
  writeFileSync(join(dir, 'file'), content);
  sent = [];
  server = createServer((req, res) => {
    const [start = 0, sizeBytes = 0] = (req.url ?? '').slice(1).split('-').map(Number);
    res.setHeader('Content-Length', sizeBytes);
    const sending = open(join(dir, 'file')).then(async (file) => {
      try {
        return await sendFile(file, res, { start, sizeBytes });
      } finally {
        await file.close();
      }
    });
    sent.push(sending);
    sending.then(
      (count) => (count === sizeBytes ? res.end() : res.destroy()),
      () => res.destroy(),
    );
  });
  server.listen(join(dir, 'socket'));
  await once(server, 'listening');
});
afterEach(() => {
  server.close();
  server.closeAllConnections();
  rmSync(dir, { recursive: true });
});

const get = async (range: string): Promise<IncomingMessage> => {
  const outgoing = request({ socketPath: join(dir, 'socket'), path: `/${range}`, agent: false });
  outgoing.end();
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  return response;
};

it('sends exactly the part that was asked for, on one connection after the other', async () => {
  for (const [start, size] of [
    [0, 20_000_000],
    [1, 5_000_001],
    [19_900_000, 100_000],
    [7, 65_536],
    [7, 65_537],
  ] as const) {
    const body = await buffer(await get(`${start}-${size}`));
    expect(body.equals(content.subarray(start, start + size))).toBe(true);
  }
});

it('sends everything to a reader that is slow, byte by byte the same', async () => {
  const response = await get('0-3000000');
  const pieces: Buffer[] = [];
  let waits = 0;
  for await (const piece of response) {
    pieces.push(piece as Buffer);
    if (pieces.length % 8 === 0 && waits < 10) {
      waits += 1;
      await delay(60);
    }
  }
  expect(waits).toBeGreaterThan(3);
  expect(Buffer.concat(pieces).equals(content.subarray(0, 3_000_000))).toBe(true);
});

it('sends to more readers at the same time than the kernel is asked to serve', async () => {
  const bodies = await Promise.all(
    Array.from({ length: 40 }, async (_, index) => buffer(await get(`${index}-2000000`))),
  );
  for (const [index, body] of bodies.entries())
    expect(body.equals(content.subarray(index, index + 2_000_000))).toBe(true);
});

it('says how much there was when the file has become shorter', async () => {
  truncateSync(join(dir, 'file'), 1_000_000);
  const response = await get('0-20000000');
  await expect(buffer(response)).rejects.toMatchObject({ code: 'ECONNRESET' });
  expect(await sent[0]).toBe(1_000_000);
});

it('rejects when the reader goes away, and keeps no descriptor', async () => {
  const openFds = (): number => readdirSync('/proc/self/fd').length;
  const before = openFds();
  for (let index = 0; index < 20; index += 1) {
    const response = await get('0-20000000');
    await once(response, 'readable');
    response.destroy();
    await expect(sent[index]).rejects.toThrow();
  }
  await expect.poll(openFds).toBeLessThanOrEqual(before);
});
