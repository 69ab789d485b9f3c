import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { agentPort } from '@skerry/contract/directory';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { prepareAgentFolder } from '../agent-folder/agent-folder.ts';
import { CLOSED_NETWORK } from '../network/policy.ts';
import { listSlots } from '../network/slots.ts';
import type { Instance, InstanceSpec, Runtime } from '../runtime.ts';
import { startHelper } from './helper.ts';

let dir: string;
let agentDir: string;
const open: Runtime[] = [];

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'helper-'));
  await mkdir(join(dir, 'bundle'));
  await mkdir(join(dir, 'rootfs'));
  await mkdir(join(dir, 'data/run'), { recursive: true });
  await copyFile(new URL('../suite/guest.cjs', import.meta.url), join(dir, 'bundle/main.js'));
  agentDir = await prepareAgentFolder({
    targetDir: join(dir, 'agent'),
    nodePath: process.execPath,
    bundleDir: join(dir, 'bundle'),
  });
});
afterEach(async () => {
  for (const runtime of open.splice(0)) await runtime.close();
  const last = await start();
  for await (const instance of last.list()) await instance.stop();
  await last.close();
  open.splice(0);
});
afterAll(() => rm(dir, { recursive: true, force: true }));

const dataDir = (): string => join(dir, 'data');

async function start(): Promise<Runtime> {
  const runtime = await startHelper({ dataDir: dataDir(), agentDir });
  open.push(runtime);
  return runtime;
}

const toSpec = (id: string): InstanceSpec => ({
  id,
  rootfs: join(dir, 'rootfs'),
  hostname: id,
  limits: { cpuCount: 1, memoryBytes: 256 * 2 ** 20, diskBytes: 256 * 2 ** 20, processCount: 100 },
  network: CLOSED_NETWORK,
});

/** The processes of this test whose command line has all these words. */
async function findProcesses(...words: string[]): Promise<number[]> {
  const found: number[] = [];
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    if (words.every((word) => line.includes(word))) found.push(Number(pid));
  }
  return found;
}
const findHelpers = (): Promise<number[]> => findProcesses('main.ts', `--data\0${dataDir()}\0`);

async function askAgent(instance: Instance): Promise<string> {
  const socket: Duplex = await instance.connect(agentPort);
  const request = get({ path: '/', createConnection: () => socket });
  const [response] = (await once(request, 'response')) as [NodeJS.ReadableStream];
  return text(response);
}

describe('the helper', () => {
  it('is another process, and starts a sandbox whose agent answers', async () => {
    const runtime = await start();
    const instance = await runtime.create(toSpec('one'));
    expect(await askAgent(instance)).toBe('ok');
    expect(await findHelpers()).toHaveLength(1);
    await instance.stop();
    expect(await listSlots({ dataDir: dataDir() })).toEqual([]);
  });

  it('starts sandboxes whatever mask its parent has', async () => {
    const mask = process.umask(0o077);
    const runtime = await start().finally(() => process.umask(mask));
    const instance = await runtime.create(toSpec('masked'));
    expect(await askAgent(instance)).toBe('ok');
  });

  it('may be killed: sandboxes continue to run, and the next call starts another helper, which finds them', async () => {
    const runtime = await start();
    const instance = await runtime.create(toSpec('two'));
    const ended = new Promise<void>((resolve) => instance.onExit(resolve));
    // Finding it among many processes takes a while, in which the create would end.
    const [pid] = await findHelpers();
    // So many that not all of them are done before the first is seen.
    const others = ['three', 'more1', 'more2', 'more3', 'more4', 'more5'];
    const creating = Promise.allSettled(others.map((id) => runtime.create(toSpec(id))));
    await expect
      .poll(async () => (await readdir(join(dataDir(), 'sandboxes'))).length, { interval: 1 })
      .toBeGreaterThan(1);
    process.kill(pid as number, 'SIGKILL');
    const refused = (await creating).filter(({ status }) => status === 'rejected');
    expect(refused.length).toBeGreaterThan(0);
    for (const one of refused) expect(one).toMatchObject({ reason: { code: 'unavailable' } });
    expect(await askAgent(instance)).toBe('ok');
    expect(await (await runtime.get('two')).state()).toBe('running');
    // The unfinished sandbox is listed and can be removed.
    for await (const other of runtime.list()) if (others.includes(other.id)) await other.stop();
    await instance.stop();
    await ended;
    expect(await readdir(join(dataDir(), 'sandboxes'))).toEqual([]);
  });

  it('may be killed while it pauses or resumes: the next one finds the sandbox complete', async () => {
    const runtime = await start();
    const instance = await runtime.create(toSpec('seven'));
    for (const delayMs of [0, 10, 25, 50, 80, 120]) {
      const change = (async () => {
        await instance.pause({ memory: false });
        await instance.resume();
      })();
      // If it is killed between the two calls, the next helper answers the second.
      const outcome = change.then(
        () => 'done',
        (error: { code: string }) => error.code,
      );
      await sleep(delayMs);
      const [pid] = await findHelpers();
      process.kill(pid as number, 'SIGKILL');
      expect(await outcome).toMatch(/^(unavailable|done)$/);
      // A call that is sent before the loss is noticed is refused; the next one reaches the next helper.
      expect(await instance.state().catch(() => instance.state())).toMatch(/^(running|paused)$/);
      await instance.resume();
      expect(await askAgent(instance)).toBe('ok');
      expect((await runtime.get('seven')).runId).toBe(instance.runId);
    }
  });

  it('ends when its runtime is closed, and the sandbox continues to run', async () => {
    const runtime = await start();
    await runtime.create(toSpec('four'));
    await runtime.close();
    expect(await findHelpers()).toEqual([]);
    await expect(runtime.get('four')).rejects.toMatchObject({ code: 'unavailable' });
    const found = await (await start()).get('four');
    expect(await askAgent(found)).toBe('ok');
  });

  it('does not outlive its parent', async () => {
    const script = `import { startHelper } from ${JSON.stringify(fileURLToPath(new URL('./helper.ts', import.meta.url)))};
      const runtime = await startHelper(${JSON.stringify({ dataDir: dataDir(), agentDir })});
      await runtime.create(${JSON.stringify(toSpec('five'))});
      console.log('made');`;
    const parent = spawn(process.execPath, ['--input-type=module-typescript', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(parent.stdout, 'data');
    expect(await findHelpers()).toHaveLength(1);
    parent.kill('SIGKILL');
    await expect.poll(findHelpers).toEqual([]);
    expect(await askAgent(await (await start()).get('five'))).toBe('ok');
  });

  it('is the only one of a data folder', async () => {
    const first = await start();
    let isSecondUp = false;
    const second = start().then(() => {
      isSecondUp = true;
    });
    await first.create(toSpec('six'));
    expect(isSecondUp).toBe(false);
    await first.close();
    await second;
  });

  it('reports why it did not start', async () => {
    await expect(
      startHelper({ dataDir: dataDir(), agentDir, mainPath: join(dir, 'none.js') }),
    ).rejects.toMatchObject({ code: 'unavailable' });
  });
});
