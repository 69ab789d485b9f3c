import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Sandbox, SandboxError, snapshots } from '@skerry/sdk';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Stack, startStack } from '../stack/stack.ts';
import { toFilesHash } from '../templates/archive.ts';
import { createBuildClient } from '../templates/build-client.ts';
import { type DebianRegistry, makeBusyboxFolder, startDebianRegistry } from '../templates/debian-registry.ts';
import { createTemplateBuilds } from '../templates/template-builds.ts';
import { type Content, findLosses, startCounter, writeFile } from './lifecycle/kept-content.ts';
import { findOrphans } from './lifecycle/orphans.ts';
import { createSmallDisk, type SmallDisk } from './small-disk.ts';

const MIB = 2 ** 20;

let disk: SmallDisk;
let stack: Stack;
let registry: DebianRegistry;
let busybox: string;
const contents = new Map<string, Content>();
beforeAll(async () => {
  disk = createSmallDisk(800 * MIB);
  registry = await startDebianRegistry();
  busybox = makeBusyboxFolder(['sh', 'cat', 'echo', 'chown', 'mkdir', 'sleep']);
  await registry.push('test/busybox', { folder: busybox, env: ['PATH=/bin'] });
  stack = await startStack({ dataDir: join(disk.path, 'data'), args: ['--registry', registry.host] });
});
afterAll(async () => {
  await stack?.down();
  await registry?.[Symbol.asyncDispose]();
  if (busybox) rmSync(busybox, { recursive: true });
  const orphans = await findOrphans(stack.dataDir, [...contents.keys()]);
  disk?.[Symbol.dispose]();
  expect(orphans.filter((orphan) => !orphan.startsWith('mount'))).toEqual([]);
});

const create = async (): Promise<Sandbox> => {
  const sandbox = await Sandbox.create({ ...stack.connection, timeoutMs: 600_000 });
  const [name, hash] = await writeFile(sandbox, { name: 'kept', text: sandbox.sandboxId.repeat(500) });
  contents.set(sandbox.sandboxId, { files: new Map([[name, hash]]), counter: await startCounter(sandbox) });
  // The disk is a sparse file: only what is on it by now is safe from a host that is full.
  await sandbox.commands.run('sync');
  return sandbox;
};

/** `done`, or the code of the error that told that it was not. */
const outcomeOf = async (act: () => Promise<unknown>): Promise<string> => {
  try {
    await act();
    return 'done';
  } catch (error) {
    if (error instanceof SandboxError) return error.code;
    throw error;
  }
};

it('a full disk is reported with 503, loses nothing, and what fills it can be removed', async () => {
  const [runs, inMemory, onDisk, ...others] = (await Promise.all(Array.from({ length: 5 }, create))) as [
    Sandbox,
    Sandbox,
    Sandbox,
    ...Sandbox[],
  ];
  await Promise.all([inMemory.pause(), onDisk.pause({ memory: false })]);
  contents.set(onDisk.sandboxId, { ...(contents.get(onDisk.sandboxId) as Content), counter: undefined });
  const captured = [await runs.createSnapshot({ memory: false }), await runs.createSnapshot()];
  const { connection } = stack;
  const connect = ({ sandboxId }: Sandbox): Promise<Sandbox> => Sandbox.connect(sandboxId, connection);
  const operations: Record<string, () => Promise<unknown>> = {
    create: () => Sandbox.create({ ...connection, timeoutMs: 600_000 }).then((made) => made.kill()),
    'create from a snapshot': () =>
      Sandbox.create({ ...connection, template: captured[1]?.snapshotId ?? '' }).then((made) => made.kill()),
    'pause with memory': () => runs.pause().then(() => connect(runs)),
    'snapshot with memory': () => runs.createSnapshot().then((made) => delete_(made.snapshotId)),
    'snapshot of files': () =>
      runs.createSnapshot({ memory: false }).then((made) => delete_(made.snapshotId)),
    fork: async () => {
      for (const made of await runs.fork()) {
        if (made instanceof SandboxError) throw made;
        await made.kill();
      }
    },
    resume: () => connect(inMemory).then((sandbox) => sandbox.pause()),
    'resume from files': () => connect(onDisk).then((sandbox) => sandbox.pause({ memory: false })),
  };
  const delete_ = (snapshotId: string): Promise<boolean> => snapshots.delete(snapshotId, connection);

  // None at all, and too little for the memory of a sandbox.
  for (const leaveBytes of [0, 2 * MIB]) {
    const outcomes: Record<string, string> = {};
    for (const [name, act] of Object.entries(operations)) {
      disk.fill(leaveBytes);
      outcomes[name] = await outcomeOf(act);
      const { stdout } = await runs.commands.run('echo yes');
      expect({ name, stdout }).toEqual({ name, stdout: 'yes\n' });
      disk.drain();
    }
    const kinds = [...new Set(Object.values(outcomes))].filter((outcome) => outcome !== 'done');
    expect({ leaveBytes, outcomes, kinds }).toEqual({ leaveBytes, outcomes, kinds: ['unavailable'] });
    if (leaveBytes === 0) expect(Object.values(outcomes)).not.toContain('done');
  }

  const builds = createBuildClient(stack);
  const { templateID } = await builds.register('full');
  disk.fill(2 * MIB);
  expect(await builds.upload(templateID, toFilesHash('full'), Buffer.alloc(8 * MIB))).toBe(507);
  disk.drain();

  disk.fill(0);
  for (const other of others) expect(await other.kill()).toBe(true);
  for (const { snapshotId } of captured) expect(await delete_(snapshotId)).toBe(true);
  disk.drain();
  for (const sandbox of [runs, inMemory, onDisk]) {
    const content = contents.get(sandbox.sandboxId) as Content;
    expect((await findLosses(await connect(sandbox), content)).losses).toEqual([]);
  }
});

it('a build fails with the reason when the disk is full before it or in the middle, leaves nothing, and the next works', async () => {
  const { register, start, readStatus, waitForEnd, build } = createTemplateBuilds(() => stack);
  const fromImage = `${registry.host}/test/busybox`;
  const listFiles = () =>
    ['templates', 'snapshots'].flatMap((name) => readdirSync(join(stack.dataDir, name)));
  const before = listFiles();
  disk.fill(MIB);
  const early = await build('early', { fromImage });
  expect(early).toMatchObject({
    status: 'error',
    reason: { message: expect.stringContaining('too little'), step: 'base' },
  });
  disk.drain();

  const steps = [
    { type: 'RUN', args: ['echo begun; sleep 2'] },
    { type: 'RUN', args: ['echo made > made'] },
  ];
  const registered = await register('late');
  await start(registered, { fromImage, steps });
  await expect
    .poll(async () => (await readStatus(registered)).logEntries.map(({ message }) => message))
    .toContain('begun');
  disk.fill(0);
  const late = await waitForEnd(registered);
  disk.drain();
  expect(late).toMatchObject({ status: 'error', reason: { message: expect.stringContaining('too little') } });
  // The cache has the image, and the results of steps before the disk was full.
  await stack.api.DELETE('/skerry/v1/build-cache');
  await expect.poll(listFiles).toEqual(before);
  expect(await build('late', { fromImage, steps })).toMatchObject({ status: 'ready' });
  await stack.api.DELETE('/skerry/v1/build-cache');
});
