// Commands that stay until they are ended, and those that show something on a terminal alone.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, truncateSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { joinStack, type SharedStack } from '../stack/shared-stack.ts';
import { skerryProgram } from '../stack/skerry-program.ts';
import { openTerminal } from './open-terminal.ts';

let stack: SharedStack;
beforeAll(async () => {
  stack = await joinStack();
});
afterAll(() => stack.leave());

/** The arguments of node for a command on this stack. */
const skerry = (noun: string, verb: string, ...rest: string[]): string[] => [
  ...[skerryProgram, noun, verb, '--data', stack.dataDir],
  ...rest,
];

const start = (argv: string[]): ChildProcess => {
  const child = spawn(process.execPath, argv, { stdio: ['ignore', 'pipe', 'pipe'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
};

const newFolder = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'skerry-lasting-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
};

describe('skerry sandbox connect', () => {
  it('opens a login shell as the user and in the folder that it names, and ends with its status', async () => {
    const { sandboxId } = await stack.createSandbox();
    const words = skerry('sandbox', 'connect', '-u', 'root', '-C', '/etc', sandboxId);
    const here = openTerminal(process.execPath, words);
    await here.see(/# $/);
    here.terminal.write('shopt -q login_shell && echo "[$(id -un) $PWD]"; exit 5\r');
    await here.see(/\n\[root \/etc\]\n/);
    expect(await here.ended).toBe(5);
  });

  it('warns before the end of the sandbox, and extends its life instead with --keep-alive', async () => {
    const [short, kept] = await Promise.all([stack.createSandbox(), stack.createSandbox()]);
    const here = openTerminal(process.execPath, skerry('sandbox', 'connect', short.sandboxId));
    const alive = openTerminal(
      process.execPath,
      skerry('sandbox', 'connect', '--keep-alive', kept.sandboxId),
    );
    await Promise.all([here.see(/\$ $/), alive.see(/\$ $/)]);
    // A connect has just extended both lives.
    for (const { sandboxId } of [short, kept])
      await stack.api.POST('/sandboxes/{sandboxID}/timeout', {
        params: { path: { sandboxID: sandboxId } },
        body: { timeout: 55 },
      });
    await here.see(/skerry: the sandbox ends in \d+ s; --keep-alive extends its life/);
    const params = { path: { sandboxID: kept.sandboxId } };
    await expect
      .poll(async () => {
        const { data } = await stack.api.GET('/sandboxes/{sandboxID}', { params });
        return Date.parse(data?.endAt ?? '') - Date.now();
      })
      .toBeGreaterThan(200_000);
    expect(alive.text()).not.toContain('ends in');
    for (const { terminal, ended } of [here, alive]) {
      terminal.write('exit\r');
      expect(await ended).toBe(0);
    }
  });
});

describe('skerry sandbox metrics --watch', () => {
  it('prints samples until the sandbox has ended', async () => {
    const sandbox = await stack.createSandbox();
    const watching = start(skerry('sandbox', 'metrics', '--watch', '--json', sandbox.sandboxId));
    const lines = createInterface({ input: watching.stdout as NodeJS.ReadableStream });
    const [line] = (await once(lines, 'line')) as [string];
    expect(JSON.parse(line)).toMatchObject({ cpuCount: 2, memoryTotalBytes: expect.any(Number) });
    await sandbox.kill();
    expect(await once(watching, 'exit')).toEqual([0, null]);
  });
});

describe('skerry template logs --follow', () => {
  it('prints what a build that runs logs, and ends with it', async () => {
    const folder = await newFolder();
    copyFileSync('/bin/busybox', join(folder, 'sh'));
    const dockerfile = 'FROM scratch\nCOPY sh /bin/\nCOPY sh /bin/sleep\nRUN sleep 3; echo late\n';
    writeFileSync(join(folder, 'Dockerfile'), dockerfile);
    const building = start(skerry('template', 'build', 'followed', folder));
    const progress = createInterface({ input: building.stderr as NodeJS.ReadableStream });
    for await (const line of progress) if (line.includes('step 3')) break;
    building.stderr?.resume();
    const following = start(skerry('template', 'logs', '--follow', 'followed'));
    const printed = await text(following.stdout as NodeJS.ReadableStream);
    expect(printed).toMatch(/ info {3}base {6}FROM scratch\n[\s\S]* {2}late\n/);
    const { data } = await stack.api.GET('/templates');
    expect(data?.find(({ aliases }) => aliases?.includes('followed'))?.buildStatus).toBe('ready');
    start(skerry('template', 'delete', 'followed'));
  });
});

describe('skerry sandbox cp on a terminal', () => {
  it('shows the total, the percentage and the rate, and nothing when it is done', async () => {
    const { sandboxId } = await stack.createSandbox();
    const file = join(await newFolder(), 'large');
    writeFileSync(file, '');
    truncateSync(file, 256 << 20);
    const here = openTerminal(process.execPath, skerry('sandbox', 'cp', file, `${sandboxId}:`));
    expect(await here.ended).toBe(0);
    const shown = here.screen().split('\r\u001b[K');
    expect(
      shown.slice(1).some((part) => /^\d+\.\d MiB of 256\.0 MiB, \d+ %, \d+\.\d [KMG]iB\/s$/.test(part)),
    ).toBe(true);
    expect(shown.at(-1)).toBe('');
  });
});
