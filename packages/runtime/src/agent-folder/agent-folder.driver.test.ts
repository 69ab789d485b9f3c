import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, sep } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCommand } from '../kernel/run-command.ts';
import { prepareAgentFolder } from './agent-folder.ts';

const main = `import { spawnSync } from 'node:child_process';
import { lookup } from 'node:dns/promises';
import { createRequire } from 'node:module';
const koffi = createRequire(import.meta.url)('koffi');
const parent = koffi.load(null).func('int getppid()')();
const child = spawnSync('/.envd/tini', ['--version'], { env: {} });
const { address } = await lookup('localhost');
console.log(JSON.stringify({ execPath: process.execPath, version: process.version, parent, child: String(child.stdout), address }));
`;

let dir: string;
let bundleDir: string;
let folder: string;
const prepare = (bundle = bundleDir): Promise<string> =>
  prepareAgentFolder({ targetDir: join(dir, 'agent'), nodePath: process.execPath, bundleDir: bundle });

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'agent-'));
  bundleDir = join(dir, 'bundle');
  await mkdir(bundleDir);
  await writeFile(join(bundleDir, 'main.js'), main);
  await writeFile(join(bundleDir, 'package.json'), '{"type":"module"}');
  const entry = createRequire(import.meta.url).resolve('koffi');
  const modules = entry.slice(0, entry.lastIndexOf(`${sep}koffi${sep}`));
  const native = join('@koromix', `koffi-${process.platform}-${process.arch}`);
  for (const name of ['koffi', native]) {
    await mkdir(dirname(join(bundleDir, 'node_modules', name)), { recursive: true });
    await cp(join(modules, name), join(bundleDir, 'node_modules', name), {
      recursive: true,
      dereference: true,
    });
  }
  folder = await prepare();
});
afterAll(() => rm(dir, { recursive: true, force: true }));

async function exited(): Promise<{ pid: number }> {
  const child = spawn('true');
  await once(child, 'exit');
  return { pid: child.pid as number };
}

describe('the agent folder', () => {
  it('runs the agent, with native code, in a root without any program or library', async () => {
    const root = join(dir, 'root');
    await mkdir(join(root, '.envd'), { recursive: true });
    await mkdir(join(root, 'etc'));
    await writeFile(join(root, 'etc/hosts'), '127.0.0.1 localhost\n');
    const script =
      'mount --bind "$0" "$1/.envd" && export LD_LIBRARY_PATH=/.envd/lib && ' +
      'exec chroot "$1" /.envd/tini -- /.envd/node /.envd/app/main.js';
    const output = await runCommand({
      file: 'unshare',
      args: ['--mount', '--pid', '--fork', '--kill-child', 'sh', '-c', script, folder, root],
    });
    expect(JSON.parse(output)).toEqual({
      execPath: '/.envd/node',
      version: process.version,
      parent: 1,
      child: expect.stringContaining('tini version'),
      address: '127.0.0.1',
    });
  });

  it('can be read by every user and written by root only', async () => {
    for (const entry of await readdir(folder, { recursive: true })) {
      const { mode, uid } = await stat(join(folder, entry));
      expect({ entry, uid, mode: mode & 0o7777 }).toEqual({ entry, uid: 0, mode: 0o755 });
    }
  });

  it('is made once when several processes need it at the same time, and leaves no incomplete one', async () => {
    const { ino } = await stat(folder);
    expect(await Promise.all([prepare(), prepare(), prepare()])).toEqual([folder, folder, folder]);
    expect((await stat(folder)).ino).toBe(ino);
    expect(await readdir(join(dir, 'agent'))).toHaveLength(1);
    await rm(folder, { recursive: true });
    expect(await Promise.all([prepare(), prepare(), prepare()])).toEqual([folder, folder, folder]);
    expect(await readdir(join(dir, 'agent'))).toHaveLength(1);
  });

  it('is made anew after a process was killed while it copied', async () => {
    const targetDir = join(dir, 'agent');
    const { pid } = await exited();
    await mkdir(join(targetDir, `new-${pid}-abcdef`));
    await mkdir(join(targetDir, `new-${process.pid}-abcdef`));
    await rm(folder, { recursive: true });
    await prepare();
    expect((await readdir(targetDir)).filter((name) => name.startsWith('new-'))).toEqual([
      `new-${process.pid}-abcdef`,
    ]);
    await rm(join(targetDir, `new-${process.pid}-abcdef`), { recursive: true });
  });

  it('has another name for another bundle', async () => {
    const changed = join(dir, 'changed');
    await cp(bundleDir, changed, { recursive: true });
    await writeFile(join(changed, 'main.js'), main.replace('localhost', 'LOCALHOST'));
    expect(await prepare(changed)).not.toBe(folder);
  });

  it('rejects a bundle without a main.js, or with a link in it', async () => {
    const bad = join(dir, 'bad');
    await expect(prepare(bad)).rejects.toMatchObject({ code: 'unsupported' });
    await mkdir(bad);
    await expect(prepare(bad)).rejects.toThrow(/main\.js/);
    await writeFile(join(bad, 'main.js'), '');
    await symlink('/etc/passwd', join(bad, 'link'));
    await expect(prepare(bad)).rejects.toThrow(/neither a file nor a folder/);
  });

  it('rejects a Node that is not dynamically linked', async () => {
    await expect(
      prepareAgentFolder({ targetDir: join(dir, 'agent'), nodePath: '/usr/bin/tini-static', bundleDir }),
    ).rejects.toMatchObject({ code: 'unsupported' });
  });
});
