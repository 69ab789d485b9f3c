import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { createRemote, dialSocket } from './client.ts';

it('does not connect again after a rejection', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'remote-'));
  onTestFinished(() => rm(dir, { recursive: true }));
  const socketPath = join(dir, 'front.sock');
  const ends: Socket[] = [];
  // Ends each connection at its first call.
  const front = createServer((client) => {
    ends.push(client);
    client.on('error', () => undefined).on('data', () => client.destroy());
  }).listen(socketPath);
  await once(front, 'listening');
  const dial = (): Promise<Socket> => dialSocket(socketPath);
  await expect(createRemote({ dial, staysConnected: true })).rejects.toMatchObject({ code: 'unavailable' });
  await expect.poll(() => ends.every((end) => end.closed)).toBe(true);
  const count = ends.length;
  // A reconnect would come at once, and after 50 ms.
  await setTimeout(200);
  expect(ends).toHaveLength(count);
  front.close();
});
