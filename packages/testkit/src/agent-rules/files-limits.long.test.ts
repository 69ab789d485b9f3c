import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { toRouting } from '../stack/stack-client.ts';
import type { Agent } from './agent.ts';
import { testAgents } from './agent-under-test.ts';
import { filesOf } from './plain-calls.ts';

const MIB = 2 ** 20;
const minutes = 60_000;

/** The growth of the memory of an agent of its own meanwhile. */
const growthDuring = async (agent: Agent, work: () => Promise<void>): Promise<number> => {
  const { ownBytes } = agent.findProcess();
  const idleBytes = ownBytes();
  expect(idleBytes).toBeGreaterThan(1 << 20);
  let peakBytes = 0;
  const timer = setInterval(() => {
    peakBytes = Math.max(peakBytes, ownBytes());
  }, 20);
  await work().finally(() => clearInterval(timer));
  return Math.max(peakBytes, ownBytes()) - idleBytes;
};

/** Reads a file to its end, in a program that is faster than this one. Resolves with its size. */
const download = async (agent: Agent, path: string): Promise<number> => {
  const headers = { ...toRouting(agent.sandboxId), 'X-Access-Token': agent.accessToken };
  const given = Object.entries(headers).flatMap(([name, value]) => ['--header', `${name}: ${value}`]);
  const options = [
    '--silent',
    '--show-error',
    '--fail',
    '--output',
    '/dev/null',
    '--write-out',
    '%{size_download}',
  ];
  const { stdout } = await promisify(execFile)('curl', [
    ...options,
    ...given,
    `${agent.url}${filesOf(path)}`,
  ]);
  return Number(stdout);
};

testAgents((agent) => {
  /** Each test fills the disk, or measures the memory, of an agent that does nothing else. */
  const start = async () => {
    const own = await agent.another();
    const sizeOf = async (path: string) => (await own.client.filesystem.stat({ path })).entry?.size;
    return { own, sizeOf, inHome: (script: string) => own.run(`cd ~ && ${script}`, 'user'), ...own.plain };
  };

  describe('a file of any size', () => {
    it(
      'rule 5.5-11, 5.2-2: 4 GiB come out while the memory of the agent grows by less than 32 MiB',
      async () => {
        const { own, inHome } = await start();
        // Holes: the disk of the sandbox is smaller.
        await inHome('truncate -s 4G big');
        let sizeBytes = 0;
        const growthBytes = await growthDuring(own, async () => {
          sizeBytes = await download(own, 'big');
        });
        expect(sizeBytes).toBe(4096 * MIB);
        expect(growthBytes).toBeLessThan(32 * MIB);
        await own.end();
      },
      4 * minutes,
    );

    it(
      'rule 5.5-11: three quarters of the free disk go in while the memory of the agent grows by less than 32 MiB',
      async () => {
        const { own, inHome, put, sizeOf } = await start();
        const count = Math.floor(Number(await inHome('df --output=avail -BM . | tail -1 | tr -d M')) * 0.75);
        expect(count).toBeGreaterThan(256);
        const piece = randomBytes(MIB);
        async function* body(): AsyncGenerator<Uint8Array> {
          for (let index = 0; index < count; index += 1) yield piece;
        }
        const growthBytes = await growthDuring(own, async () => {
          expect((await put('big', body())).status).toBe(200);
        });
        expect(await sizeOf('big')).toBe(BigInt(count * MIB));
        expect(growthBytes).toBeLessThan(32 * MIB);
        await own.end();
      },
      4 * minutes,
    );
  });

  describe('a disk that is full', () => {
    it('rule 5.5-14: answers 507, deletes the new file and accepts a file that fits', async () => {
      const { own, inHome, put, refusal, sizeOf } = await start();
      // Reserved and not written: full within a moment, except for 2 MiB.
      await inHome('fallocate -l $(( $(df --output=avail -B1 . | tail -1) - (2 << 20) )) big');
      const large = { headers: { 'content-type': 'application/octet-stream' }, body: randomBytes(8 * MIB) };
      expect(await refusal(`POST ${filesOf('more')}`, large)).toMatchObject({ status: 507 });
      expect(await own.files.exists('more')).toBe(false);
      const form = `--b\r\nContent-Disposition: form-data; name="file"; filename="more"\r\n\r\n`;
      const multipart = {
        headers: { 'content-type': 'multipart/form-data; boundary=b' },
        body: Buffer.concat([Buffer.from(form), large.body, Buffer.from('\r\n--b--\r\n')]),
      };
      expect(await refusal('POST /files', multipart)).toMatchObject({ status: 507 });
      expect(await own.files.exists('more')).toBe(false);
      expect((await put('fits', 'x')).status).toBe(200);
      await own.client.filesystem.remove({ path: 'big' });
      expect((await put('more', large.body)).status).toBe(200);
      expect(await sizeOf('more')).toBe(BigInt(8 * MIB));
      await own.end();
    });

    it(
      'rule 5.5-14: answers 507 when it has no inode left, for a file, for a parent and for a part',
      async () => {
        const { own, inHome, put, refusal } = await start();
        await own.files.write(
          'fill.py',
          `import os
os.mkdir('many'); os.chdir('many')
n = 0
try:
    while True:
        os.mknod(str(n)); n += 1
except OSError as error:
    print(error.errno)`,
        );
        expect(await inHome('python3 fill.py')).toBe('28\n');
        const upload = { headers: { 'content-type': 'application/octet-stream' }, body: 'x' };
        for (const path of ['new', 'new/parent/file'])
          expect(await refusal(`POST ${filesOf(path)}`, upload)).toMatchObject({ status: 507 });
        const compose = { body: '{"source_paths":["fill.py"],"destination":"joined"}' };
        expect(await refusal('POST /files/compose', compose)).toMatchObject({ status: 507 });
        // What is there can still be overwritten, and one that goes makes room for another.
        expect((await put('fill.py', 'x')).status).toBe(200);
        await own.client.filesystem.remove({ path: 'many/1' });
        expect((await put('new', 'x')).status).toBe(200);
        await own.end();
      },
      2 * minutes,
    );
  });
});
