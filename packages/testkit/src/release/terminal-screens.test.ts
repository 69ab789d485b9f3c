// What commands show on terminals of 80 and of 120 columns, as it is kept in packages/cli/screens/terminal-80 and -120: `vitest run
// --project release FILE -u` writes it.
import { chmodSync, copyFileSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { spawn } from '@lydell/node-pty';
import xterm from '@xterm/headless';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Line, toScript, withPlaceholders } from '../cli/screens/transcript.ts';
import { createReader, type Reader } from '../pages/reader.ts';
import { imagesDir } from '../stack/images-dir.ts';
import { skerryProgram } from '../stack/skerry-program.ts';
import { type Stack, startStack } from '../stack/stack.ts';
import { workspaceRoot } from '../workspace/workspace-copy.ts';

const untilServed = 'until [ -e data/run/server.json ]; do sleep 0.1; done; sleep 1';
const sessions: Record<string, readonly Line[]> = {
  sandbox: [
    'id=$(skerry sandbox create --timeout 10m --metadata purpose="a long text that does not fit on a narrow terminal")',
    'skerry sandbox list',
    'skerry sandbox info "$id"',
    'copy=$(skerry sandbox fork "$id")',
    'skerry sandbox kill "$id" "$copy"',
    'skerry sandbox info inone',
    'skerry sandbox create --timeout 2d',
  ],
  template: [
    // What another session has built.
    'skerry template cache prune -q > prune.txt',
    'skerry template build web ./project',
    'skerry template build failing ./failing',
    'skerry template list',
    'skerry template show web',
    'skerry template tag web stable',
    'skerry template tag web',
    'skerry template logs web',
    'skerry template cache list',
    'skerry image save web -o web.tar',
    'skerry image load --name loaded web.tar',
    'skerry template delete web loaded',
    'skerry template delete web',
  ],
  system: ['skerry system df', 'skerry system prune --force'],
  up: [
    {
      shown: 'skerry up --port 0 --data ./data',
      run: `skerry up --port 0 --data ./data & ${untilServed}; kill -INT $!; wait $!`,
    },
    'skerry down --data ./data',
    'skerry down --data ./data',
  ],
  doctor: ['skerry doctor'],
};

let stack: Stack;
let reader: Reader;
beforeAll(async () => {
  stack = await startStack();
  reader = createReader(stack.address);
  for (const name of ['project', 'failing']) {
    mkdirSync(join(reader.path, name));
    copyFileSync('/bin/busybox', join(reader.path, name, 'sh'));
  }
  const dockerfile =
    'FROM scratch\nCOPY sh /bin/\nRUN echo built: a line that is longer than a narrow terminal is wide, so that it is cut there\n';
  writeFileSync(join(reader.path, 'project/Dockerfile'), dockerfile);
  writeFileSync(
    join(reader.path, 'failing/Dockerfile'),
    'FROM scratch\nCOPY sh /bin/\nRUN echo why; exit 3\n',
  );
  // The name by which a user has installed it, for the lines that `up` prints.
  const installed = join(reader.path, 'installed');
  mkdirSync(installed);
  symlinkSync(skerryProgram, join(installed, 'skerry'));
  const wrapper = join(reader.path, 'bin/skerry');
  writeFileSync(
    wrapper,
    `#!/bin/sh\nPATH="$PATH:${installed}" exec '${process.execPath}' ${installed}/skerry "$@"\n`,
  );
  chmodSync(wrapper, 0o755);
});
afterAll(async () => {
  const data = join(reader.path, 'data');
  if (existsSync(data)) await reader.run('skerry', ['down', '--data', data]);
  reader[Symbol.dispose]();
  await stack.down();
});

/** The rows that a terminal shows after the session, of which none has left it. */
async function readScreen(columns: number, script: string): Promise<string> {
  const variables = await reader.run('env', ['-0'], { SKERRY_IMAGES_DIR: imagesDir, SKERRY_BASE: 'minimal' });
  const env = Object.fromEntries(
    variables
      .split('\0')
      .filter((line) => line.includes('='))
      .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  );
  const shell = spawn('bash', ['-c', script], {
    ...{ cols: columns, rows: 50, cwd: reader.path },
    env: { ...env, TERM: 'xterm', NO_COLOR: '1' },
  });
  let shown = '';
  shell.onData((data) => {
    shown += data;
  });
  await new Promise((resolve) => shell.onExit(resolve));
  const terminal = new xterm.Terminal({ cols: columns, rows: 500, allowProposedApi: true });
  // Lines break where the terminal breaks them, so placeholders come before.
  const masked = withPlaceholders(shown.replaceAll('\r\n', '\n'), reader.path).replaceAll('\n', '\r\n');
  await new Promise<void>((resolve) => terminal.write(masked, resolve));
  const { active } = terminal.buffer;
  const rows = Array.from({ length: active.cursorY + 1 }, (_, row) =>
    (active.getLine(row)?.translateToString(true) ?? '').trimEnd(),
  );
  return `${rows.join('\n').trimEnd()}\n`;
}

/** Which features a host has, and how large its files are, is not what is compared. */
const withoutHost: Record<string, (text: string) => string> = {
  doctor: (text) =>
    text
      .replace(
        /^(?:ok {2}|OFF ) ([^:\n]+): .*(\n(?!ok {2}|OFF |\$|\n).*)*/gm,
        '<ok or OFF> $1: <what was found>',
      )
      .replace(/^sandboxes can be made on this host.*(\n(?!\$).+)*/m, '<whether sandboxes can be made>')
      // runsc is there once a server of the host has fetched it.
      .replace(/^.* runsc version: .*\n/m, ''),
  system: (text) =>
    text
      .replace(/\d+(\.\d+)?/g, '0')
      .replace(/\b(B|KiB|GiB)\b/g, 'MiB')
      .replace(/ {2,}/g, '  '),
};

describe.each([80, 120])('what is shown on a terminal of %d columns', (columns) => {
  it.each(Object.entries(sessions))('%s', async (name, lines) => {
    const shown = await readScreen(columns, toScript(lines));
    const screen = withoutHost[name]?.(shown) ?? shown;
    const file = join(workspaceRoot, `packages/cli/screens/terminal-${columns}`, `${name}.txt`);
    await expect(screen).toMatchFileSnapshot(file);
  });
});
