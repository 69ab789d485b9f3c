import { execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createFileRequests } from '../../testing/file-requests.ts';
import { openFilesOf } from '../../testing/open-files.ts';
import { type Answer, startAgent, type TestAgent } from '../../testing/start-agent.ts';

let agent: TestAgent;
beforeAll(async () => {
  agent = await startAgent();
  await agent.initialize({ defaultUser: 'user' });
});
afterAll(() => agent.stop());

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(agent.dir, 'compose-'));
});
afterEach(() => {
  // Whatever the outcome, nothing half-written stays.
  expect(readdirSync(dir).filter((name) => name.endsWith('.part'))).toEqual([]);
});

const { get, put } = createFileRequests(() => agent);
const compose = (body: unknown): Promise<Answer> =>
  agent.http({
    method: 'POST',
    path: '/files/compose',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
/** Files in the folder of the test, named like their content. */
const sources = (...texts: string[]): string[] =>
  texts.map((text) => {
    writeFileSync(join(dir, text), text);
    return join(dir, text);
  });

describe('POST /files/compose', () => {
  it('copies what is larger than its buffers byte for byte, and a source that is named twice twice', async () => {
    const [large, small] = sources('large', 'small') as [string, string];
    const bytes = randomBytes(3_000_001);
    writeFileSync(large, bytes);
    await compose({ source_paths: [large, small, large], destination: join(dir, 'all') });
    expect(readFileSync(join(dir, 'all')).equals(Buffer.concat([bytes, Buffer.from('small'), bytes]))).toBe(
      true,
    );
    expect(readdirSync(dir)).toEqual(['all']);
  });

  it('writes through a link, also through one that leads nowhere yet, which stays a link', async () => {
    writeFileSync(join(dir, 'target'), 'old');
    symlinkSync('target', join(dir, 'link'));
    symlinkSync('new folder/file', join(dir, 'dangling'));
    await compose({ source_paths: sources('1'), destination: join(dir, 'link') });
    await compose({ source_paths: sources('2'), destination: join(dir, 'dangling') });
    expect(readFileSync(join(dir, 'target'), 'utf8')).toBe('1');
    expect(readFileSync(join(dir, 'new folder/file'), 'utf8')).toBe('2');
    expect(lstatSync(join(dir, 'link')).isSymbolicLink()).toBe(true);
    expect(lstatSync(join(dir, 'dangling')).isSymbolicLink()).toBe(true);
  });

  it('reads through a source that is a link and deletes only the link', async () => {
    writeFileSync(join(dir, 'target'), 'kept');
    symlinkSync('target', join(dir, 'link'));
    await compose({ source_paths: [join(dir, 'link')], destination: join(dir, 'all') });
    expect(readdirSync(dir).sort()).toEqual(['all', 'target']);
    expect(readFileSync(join(dir, 'all'), 'utf8')).toBe('kept');
  });

  it('loses nothing that a program writes into a source meanwhile', async () => {
    const [large] = sources('large') as [string];
    truncateSync(large, 500 << 20);
    const joining = compose({ source_paths: [large], destination: join(dir, 'all') });
    const done = joining.then(() => true);
    // The file without a name is there when copying begins.
    while (!openFilesOf(agent.pid).some((path) => path.endsWith('(deleted)'))) {
      if (await Promise.race([done, delay(1, false)]))
        throw new Error('the files were joined before the test could observe it');
    }
    await delay(20);
    // At its beginning, which has been read by now.
    const fd = openSync(large, 'r+');
    writeSync(fd, 'late', 0);
    closeSync(fd);
    expect((await joining).status).toBe(200);
    const kept = readFileSync(existsSync(large) ? large : join(dir, 'all')).subarray(0, 4);
    expect(kept.toString()).toBe('late');
  });

  it.each([
    ['a list', [], 400],
    ['a source that is no text', { source_paths: [1], destination: 'x' }, 400],
    ['an empty source', { source_paths: [''], destination: 'x' }, 400],
    ['a user that is no text', { source_paths: ['/etc/passwd'], destination: 'x', username: 1 }, 400],
    ['the home of another user', { source_paths: ['~other/x'], destination: 'x' }, 400],
    ['a NUL byte', { source_paths: ['/etc/passwd'], destination: 'a\0b' }, 400],
    ['a device as destination', { source_paths: ['/etc/passwd'], destination: '/dev/null' }, 400],
    ['a name that is too long', { source_paths: ['/etc/passwd'], destination: 'x'.repeat(300) }, 400],
    ['more than a mebibyte of paths', { source_paths: ['x'.repeat(1 << 20)], destination: 'x' }, 400],
  ])('refuses %s and changes nothing', async (_what, body, code) => {
    const { status, json } = await compose(body);
    expect([status, json]).toMatchObject([code, { code, message: expect.any(String) }]);
    expect(existsSync(join(agent.home, 'x'))).toBe(false);
    expect(existsSync('/etc/passwd')).toBe(true);
  });

  it('refuses a FIFO on either side without waiting, and does not wake a program that waits at it', async () => {
    const fifo = join(dir, 'fifo');
    execFileSync('mkfifo', [fifo]);
    const [a] = sources('a') as [string];
    // Both open the FIFO and wait for another side.
    for (const script of ['echo late > "$0"', 'exec cat "$0"']) {
      const waiting = spawn('sh', ['-c', script, fifo], { stdio: 'ignore' });
      await delay(100);
      expect((await compose({ source_paths: [fifo], destination: join(dir, 'x') })).status).toBe(400);
      expect((await compose({ source_paths: [a], destination: fifo })).status).toBe(400);
      expect((await get(fifo)).status).toBe(400);
      expect((await put(fifo, 'x')).status).toBe(400);
      await delay(100);
      expect(waiting.exitCode).toBe(null);
      waiting.kill();
      await once(waiting, 'exit');
    }
    expect(existsSync(a)).toBe(true);
  });

  it('leaves nothing where a file has a name from the start and cannot be written', async () => {
    const [a] = sources('a') as [string];
    const { status, json } = await compose({ source_paths: [a], destination: join(agent.queues, 'x') });
    expect([status, json]).toEqual([500, { code: 500, message: 'write: invalid argument' }]);
    const { entries } = await agent.files().listDir({ path: agent.queues });
    expect([entries, readFileSync(a, 'utf8')]).toEqual([[], 'a']);
  });

  it('changes nothing when the caller goes away before it is done', async () => {
    const [large] = sources('large') as [string];
    // So large that it is not done before it is seen.
    truncateSync(large, 2 ** 35);
    mkdirSync(join(dir, 'to'));
    const outgoing = request({
      socketPath: join(agent.socketDir, 'http.sock'),
      method: 'POST',
      path: '/files/compose',
    });
    outgoing.on('error', () => undefined);
    outgoing.end(JSON.stringify({ source_paths: [large], destination: join(dir, 'to/all') }));
    const holds = (): boolean => openFilesOf(agent.pid).includes(large);
    await expect.poll(holds, { interval: 2 }).toBe(true);
    outgoing.destroy();
    await expect.poll(holds).toBe(false);
    expect(readdirSync(join(dir, 'to'))).toEqual([]);
    expect(statSync(large).size).toBe(2 ** 35);
    expect((await agent.http({ path: '/health' })).status).toBe(204);
  });
});

describe('an agent that is killed while it joins', () => {
  it('leaves the sources, the destination as it was and no trace in between', async () => {
    const doomed = await startAgent();
    const [large, old] = [join(doomed.dir, 'large'), join(doomed.dir, 'old')];
    writeFileSync(large, '');
    // So large that it is not done before it is seen.
    truncateSync(large, 2 ** 35);
    writeFileSync(old, 'old');
    const outgoing = request({
      socketPath: join(doomed.socketDir, 'http.sock'),
      method: 'POST',
      path: '/files/compose',
    });
    outgoing.on('error', () => undefined);
    outgoing.end(JSON.stringify({ source_paths: [large], destination: old }));
    const written = (): number =>
      Number(/^write_bytes: (\d+)$/m.exec(readFileSync(`/proc/${doomed.pid}/io`, 'utf8'))?.[1]);
    const before = written();
    await expect.poll(written, { interval: 2 }).toBeGreaterThan(before + (8 << 20));
    await doomed.kill();
    expect(readdirSync(doomed.dir).sort()).toEqual(['large', 'old']);
    expect(readFileSync(old, 'utf8')).toBe('old');
    expect(statSync(large).size).toBe(2 ** 35);
    await doomed.stop();
  });
});
