import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCommand } from '../../../kernel/run-command.ts';
import { findThrough } from '../../../suite/hostile.ts';
import { prepareSuiteRootfs } from '../../../suite/rootfs.ts';

interface Config {
  process: { terminal: boolean; args: string[] };
  root: { path: string };
}

let bundle: string;
let through: string[];
beforeAll(async () => {
  bundle = await mkdtemp(join(tmpdir(), 'plain-container-'));
  await runCommand({ file: 'runc', args: ['spec', '--bundle', bundle] });
  const path = join(bundle, 'config.json');
  const config = JSON.parse(await readFile(path, 'utf8')) as Config;
  config.root.path = await prepareSuiteRootfs();
  config.process.terminal = false;
  through = await findThrough(async (program, argument) => {
    config.process.args = ['python3', '-c', program, argument];
    await writeFile(path, JSON.stringify(config));
    const place = ['--root', join(bundle, 'state'), 'run', '--bundle', bundle];
    return runCommand({ file: 'runc', args: [...place, `plain${process.pid}`] });
  });
});
afterAll(() => rm(bundle, { recursive: true }));

// The refusals of a sandbox prove something only if the hostile program of the suite can succeed elsewhere.
describe('a container with the defaults of runc', () => {
  it.each([
    'be a user of the host',
    'call add_key',
    'call clone3',
    'call keyctl',
    'call request_key',
    'call setns',
    'look at /proc/cmdline',
    'look at /proc/interrupts',
    'look at /sys/kernel',
    'look at /sys/module',
    'make a user namespace',
    'mount in a user namespace',
    'read the boot id of the host',
    'start too many processes',
    'take too much memory',
  ])('allows a hostile program to %s', (name) => {
    expect(through).toContain(name);
  });

  it('refuses what every container refuses', () => {
    const held = [
      'read a file of the host',
      'see a process of the host',
      'end a process of the host',
      'mount a file system',
    ];
    expect(through.filter((name) => held.includes(name))).toEqual([]);
  });
});
