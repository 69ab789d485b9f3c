import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, rmdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ensureGroup, moveToGroup, readUnifiedGroup } from '../../rootless/unified-groups.ts';
import { runOciProgram } from './container/run-oci-program.ts';
import { createRootlessBackend } from './rootless-backend.ts';

const MIB = 2 ** 20;
const limits = { cpuCount: 0.5, memoryBytes: 256 * MIB, diskBytes: 64 * MIB, processCount: 64 };

/** The version 2 tree of this host, alone or beside those of version 1. */
const root =
  /^\S+ \S+ \S+ \S+ (\S+) .* - cgroup2 /m.exec(readFileSync('/proc/self/mountinfo', 'utf8'))?.[1] ?? '';
const group = `/skerry-delegated-${process.pid}`;
const folder = `${root}${group}`;

describe('a cgroup that a service manager has delegated', () => {
  let dir: string;
  beforeEach((context) => {
    if (root === '') context.skip('this host has no tree of version 2');
  });
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'delegated-'));
    if (root !== '') mkdirSync(folder);
  });
  afterAll(async () => {
    await rm(dir, { recursive: true });
    if (root === '') return;
    for (const name of readdirSync(folder, { withFileTypes: true }))
      if (name.isDirectory()) rmdirSync(join(folder, name.name));
    rmdirSync(folder);
  });

  it('has its first process in a group below it, so that it can delegate controllers', async () => {
    const holder = spawn('sleep', ['1000']);
    moveToGroup(folder, holder.pid as number);
    expect(readUnifiedGroup(holder.pid as number)).toBe(group);
    moveToGroup(ensureGroup(folder, 'holder'), holder.pid as number);
    expect(readUnifiedGroup(holder.pid as number)).toBe(`${group}/holder`);
    expect(readFileSync(`${folder}/cgroup.procs`, 'utf8')).toBe('');
    const ended = once(holder, 'exit');
    holder.kill();
    await ended;
  });

  it('has a group for each sandbox, which the program that starts it is in, and which is frozen and killed as a whole', async () => {
    const backend = createRootlessBackend({
      dataDir: dir,
      rootless: { hostAddresses: [], cgroupFolder: folder },
    });
    // Some hosts have their controllers in version 1; the test uses those that are available.
    const memberFiles = await backend.prepareCgroup('one', limits);
    expect(memberFiles).toEqual([`${folder}${backend.cgroup('one').path}/cgroup.procs`]);
    const log = join(dir, 'log');
    await runOciProgram({
      program: '/bin/sh',
      args: ['-c', `cat /proc/self/cgroup > ${log}; sleep 1000 & sleep 1000 &`],
      memberFiles,
      stdio: ['ignore', 'ignore', 'ignore'],
      passes: [],
      log,
      signal: new AbortController().signal,
    });
    expect(readFileSync(log, 'utf8')).toContain(`0::${group}${backend.cgroup('one').path}\n`);
    const cgroup = backend.cgroup('one');
    expect(await cgroup.members()).toHaveLength(2);
    await cgroup.freeze();
    expect(await cgroup.state()).toBe('paused');
    while (await cgroup.kill());
    expect(await cgroup.state()).toBe('stopped');
    await cgroup.remove();
  });

  it('rejects a program whose group does not exist', async () => {
    const run = runOciProgram({
      program: '/bin/true',
      args: [],
      memberFiles: [`${folder}/none/cgroup.procs`],
      stdio: ['ignore', 'ignore', 'ignore'],
      passes: [],
      log: join(dir, 'log'),
      signal: new AbortController().signal,
    });
    await expect(run).rejects.toMatchObject({
      code: 'internal',
      message: expect.stringContaining('refuses true in a cgroup'),
    });
  });
});
