import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startAgent, type TestAgent } from '../testing/start-agent.ts';

let agent: TestAgent;
beforeAll(async () => {
  agent = await startAgent();
});
afterAll(() => agent.stop());

const countDescriptors = (): number => readdirSync(`/proc/${agent.pid}/fd`).length;

const envelope = (message: unknown): Buffer => {
  const text = Buffer.from(JSON.stringify(message));
  const head = Buffer.alloc(5);
  head.writeUInt32BE(text.length, 1);
  return Buffer.concat([head, text]);
};

const post = (path: string, type: string, body: Buffer): Buffer =>
  Buffer.concat([
    Buffer.from(
      `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: ${type}\r\nConnect-Protocol-Version: 1\r\n` +
        `Content-Length: ${body.length}\r\n\r\n`,
    ),
    body,
  ]);

const stream = (path: string, message: unknown): Buffer =>
  post(path, 'application/connect+json', envelope(message));

/** Sends the first bytes of a request and goes away some time later. */
const sendAndVanish = async (bytes: Buffer, afterMs: number): Promise<void> => {
  const socket = connect(join(agent.socketDir, 'http.sock'));
  socket.on('error', () => undefined);
  socket.write(bytes);
  await delay(afterMs);
  socket.destroy();
};

describe('clients that vanish at any point', () => {
  it('leave no descriptor, process, watch or half a file behind, and the agent answers', async () => {
    await agent.processes().list({});
    await agent.files().listDir({ path: agent.dir });
    const { watcherId } = await agent.files().createWatcher({ path: agent.dir });
    await agent.files().removeWatcher({ watcherId });
    const before = countDescriptors();

    const sh = (script: string) => ({ process: { cmd: '/bin/sh', args: ['-c', script] } });
    const requests = [
      stream('/process.Process/Start', sh('sleep 0.3')),
      stream('/process.Process/Start', sh('head -c 30000000 /dev/zero')),
      stream('/process.Process/Start', sh('sleep 0.1; echo x >&2')),
      stream('/process.Process/StreamInput', { start: { process: { pid: 1 } } }),
      stream('/filesystem.Filesystem/WatchDir', { path: agent.dir, recursive: true }),
      post('/filesystem.Filesystem/ListDir', 'application/json', Buffer.from('{"path":"/usr","depth":4}')),
      post(`/files?path=${agent.dir}/upload`, 'application/octet-stream', Buffer.alloc(3_000_000, 'x')),
      Buffer.from('GET /files?path=/proc/self/exe HTTP/1.1\r\nHost: x\r\n\r\n'),
    ];
    const vanishing: Promise<void>[] = [];
    for (let round = 0; round < 6; round += 1) {
      for (const request of requests) {
        const cut = request.subarray(0, round % 2 === 0 ? request.length : Math.floor(request.length / 2));
        vanishing.push(sendAndVanish(cut, round * 15));
      }
    }
    await Promise.all(vanishing);

    await expect.poll(async () => (await agent.processes().list({})).processes).toEqual([]);
    await expect.poll(countDescriptors).toBeLessThanOrEqual(before);
    expect(agent.log()).not.toMatch(/uncaught|unhandled/);
    expect((await agent.http({ path: '/health' })).status).toBe(204);
  });

  it('hold no process back, also those who go while their connection is full', async () => {
    // Those of the test above have ended, and the agent may yet have to hear of it.
    await expect.poll(async () => (await agent.processes().list({})).processes).toEqual([]);
    const start = stream('/process.Process/Start', {
      process: { cmd: 'head', args: ['-c', '6000000', '/dev/zero'] },
    });
    for (let round = 0; round < 40; round += 1) {
      const socket = connect(join(agent.socketDir, 'http.sock')).on('error', () => undefined);
      socket.write(start);
      await once(socket, 'data');
      socket.pause();
      // Now the agent waits for room in the connection.
      if (round % 2 === 0) await delay(round % 8);
      socket.destroy();
    }
    await expect.poll(async () => (await agent.processes().list({})).processes.length).toBe(0);
  });
});
