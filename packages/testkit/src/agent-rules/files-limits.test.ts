import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { Sandbox } from '@skerry/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { joinStack, type SharedStack } from '../stack/shared-stack.ts';
import type { StackSandbox } from '../stack/stack-client.ts';
import { createPlainCalls, filesOf } from './plain-calls.ts';

let stack: SharedStack;
let sandbox: StackSandbox;
let sdk: Sandbox;
beforeAll(async () => {
  stack = await joinStack();
});
afterAll(() => stack.leave());

const { open, put, refusal } = createPlainCalls(() => ({ stack, sandbox }));
/** A sandbox of its own for each test: they fill its disk. */
const start = async (): Promise<void> => {
  sandbox = await stack.createSandbox({ timeoutSeconds: 600 });
  sdk = await Sandbox.connect(sandbox.sandboxId, stack.connection);
};

const MIB = 2 ** 20;
const minutes = 60_000;

/** The agent of the sandbox, as the host sees it. */
const findAgent = (): number => {
  const pid = readdirSync('/proc').find(
    (name) =>
      /^\d+$/.test(name) &&
      readOrEmpty(`/proc/${name}/cgroup`).includes(sandbox.sandboxId) &&
      readOrEmpty(`/proc/${name}/cmdline`).startsWith('/.envd/node'),
  );
  if (pid === undefined) throw new Error('the agent was not found');
  return Number(pid);
};
const readOrEmpty = (path: string): string => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // The process has just ended.
  }
};
/** Memory of the agent's own: without the pages of its program, which all sandboxes share. */
const ownBytesOf = (pid: number): number =>
  Number(/^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;
const peakDuring = async (work: () => Promise<void>): Promise<number> => {
  const pid = findAgent();
  let peakBytes = 0;
  const timer = setInterval(() => {
    peakBytes = Math.max(peakBytes, ownBytesOf(pid));
  }, 20);
  await work().finally(() => clearInterval(timer));
  return Math.max(peakBytes, ownBytesOf(pid));
};

describe('a file of any size', () => {
  it(
    'rule 5.5-11, 5.2-2: 4 GiB come out with less than 64 MiB of memory of the agent',
    async () => {
      await start();
      // Holes: the disk of the sandbox is smaller.
      await sdk.commands.run('truncate -s 4G big');
      let sizeBytes = 0;
      const peakBytes = await peakDuring(async () => {
        for await (const chunk of await open(`GET ${filesOf('big')}`)) sizeBytes += (chunk as Buffer).length;
      });
      expect(sizeBytes).toBe(4096 * MIB);
      expect(peakBytes).toBeLessThan(64 * MIB);
      await sandbox.kill();
    },
    4 * minutes,
  );

  it(
    'rule 5.5-11: 1.5 GiB, which the disk has room for, go in with less than 64 MiB of memory of the agent',
    async () => {
      await start();
      const piece = randomBytes(MIB);
      async function* body(): AsyncGenerator<Uint8Array> {
        for (let index = 0; index < 1536; index += 1) yield piece;
      }
      const peakBytes = await peakDuring(async () => {
        expect((await put('big', body())).status).toBe(200);
      });
      expect((await sdk.files.getInfo('big')).sizeBytes).toBe(1536 * MIB);
      expect(peakBytes).toBeLessThan(64 * MIB);
      await sandbox.kill();
    },
    4 * minutes,
  );
});

describe('a disk that is full', () => {
  it('rule 5.5-14: answers 507, takes the new file away and has room again for what fits', async () => {
    await start();
    // Reserved and not written: full within a moment, except for 2 MiB.
    await sdk.commands.run('fallocate -l $(( $(df --output=avail -B1 . | tail -1) - (2 << 20) )) big');
    const large = { headers: { 'content-type': 'application/octet-stream' }, body: randomBytes(8 * MIB) };
    expect(await refusal(`POST ${filesOf('more')}`, large)).toMatchObject({ status: 507 });
    expect(await sdk.files.exists('more')).toBe(false);
    const form = `--b\r\nContent-Disposition: form-data; name="file"; filename="more"\r\n\r\n`;
    const multipart = {
      headers: { 'content-type': 'multipart/form-data; boundary=b' },
      body: Buffer.concat([Buffer.from(form), large.body, Buffer.from('\r\n--b--\r\n')]),
    };
    expect(await refusal('POST /files', multipart)).toMatchObject({ status: 507 });
    expect(await sdk.files.exists('more')).toBe(false);
    expect((await put('fits', 'x')).status).toBe(200);
    await sdk.files.remove('big');
    expect((await put('more', large.body)).status).toBe(200);
    expect((await sdk.files.getInfo('more')).sizeBytes).toBe(8 * MIB);
    await sandbox.kill();
  });

  it(
    'rule 5.5-14: answers 507 when it has no inode left, for a file, for a parent and for a part',
    async () => {
      await start();
      await sdk.files.write(
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
      expect((await sdk.commands.run('python3 fill.py')).stdout).toBe('28\n');
      const upload = { headers: { 'content-type': 'application/octet-stream' }, body: 'x' };
      for (const path of ['new', 'new/parent/file'])
        expect(await refusal(`POST ${filesOf(path)}`, upload)).toMatchObject({ status: 507 });
      const compose = { body: '{"source_paths":["fill.py"],"destination":"joined"}' };
      expect(await refusal('POST /files/compose', compose)).toMatchObject({ status: 507 });
      // What is there can still be overwritten, and one that goes makes room for another.
      expect((await put('fill.py', 'x')).status).toBe(200);
      await sdk.files.remove('many/1');
      expect((await put('new', 'x')).status).toBe(200);
      await sandbox.kill();
    },
    2 * minutes,
  );
});
