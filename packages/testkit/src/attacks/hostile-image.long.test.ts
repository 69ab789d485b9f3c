import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Sandbox } from '@skerry/sdk';
import { afterAll, beforeAll, expect } from 'vitest';
import { type Stack, startStack } from '../stack/stack.ts';
import { makeArchive } from '../templates/archive.ts';
import { type DebianRegistry, makeBusyboxFolder, startDebianRegistry } from '../templates/debian-registry.ts';
import { createTemplateBuilds } from '../templates/template-builds.ts';
import { attackFromOutside } from './attack.ts';

let registry: DebianRegistry;
let stack: Stack;
const dir = mkdtempSync(join(tmpdir(), 'skerry-hostile-image-'));
const dataDir = join(dir, 'data');
beforeAll(async () => {
  registry = await startDebianRegistry();
  stack = await startStack({ dataDir, args: ['--registry', registry.host] });
});
afterAll(async () => {
  await stack.down();
  await registry[Symbol.asyncDispose]();
  rmSync(dir, { recursive: true });
});

const { build } = createTemplateBuilds(() => stack);
type Entries = Parameters<typeof makeArchive>[0];
let count = 0;

/** Pulls an image with these layers over that of busybox into a template; resolves with the build and its name. */
const buildFrom = async (...layers: Entries[]) => {
  const name = `image-${count++}`;
  const busybox = makeBusyboxFolder(['sh', 'cat', 'echo', 'id', 'chown', 'mkdir']);
  const lowest = join(dir, `${name}.busybox`);
  execFileSync('tar', ['-C', busybox, '--owner=0', '--group=0', '-cf', lowest, '.']);
  rmSync(busybox, { recursive: true });
  const paths = [lowest];
  for (const entries of layers) {
    const path = join(dir, `${name}.${paths.length}`);
    writeFileSync(path, await makeArchive(entries));
    paths.push(path);
  }
  await registry.pushLayers(name, { paths, compression: 'none', env: ['PATH=/bin'] });
  return { name, ...(await build(name, { fromImage: `${registry.host}/${name}` })) };
};

attackFromOutside(
  'writing to files of the host by names and links in the layers of an image',
  'names that climb are refused; absolute names and links lead nowhere but inside of the image',
  async () => {
    const evil = `evil-${randomUUID()}`;
    const climbing: Entries[] = [
      [{ name: `../../etc/${evil}`, content: 'x' }],
      [{ name: `a/../../../etc/${evil}`, content: 'x' }],
      [{ name: 'passwd', type: 'link', linkname: '../../etc/passwd' }],
    ];
    for (const entries of climbing)
      expect(await buildFrom(entries)).toMatchObject({
        status: 'error',
        reason: { step: 'base', message: expect.stringContaining('a layer has an entry named "') },
      });
    const { name, reason } = await buildFrom(
      [
        { name: `/etc/${evil}`, content: 'absolute' },
        { name: 'up', type: 'symlink', linkname: '../../../../../../../../etc' },
        { name: `up/${evil}-up`, content: 'up' },
        { name: 'etc/copied', type: 'link', linkname: '/etc/passwd' },
      ],
      [
        { name: 'out', type: 'symlink', linkname: '/' },
        { name: `out/etc/${evil}-out`, content: 'out' },
      ],
    );
    expect(reason).toBeUndefined();
    const places = ['/etc', join(tmpdir(), 'etc')].map((folder) => join(folder, evil));
    expect(places.flatMap((path) => [path, `${path}-up`, `${path}-out`]).filter(existsSync)).toEqual([]);
    // Not in mounted images, which are other file systems.
    expect(execFileSync('find', [dir, '-xdev', '-name', `${evil}*`], { encoding: 'utf8' })).toBe('');
    const sandbox = await Sandbox.create({ ...stack.connection, template: name });
    const { stdout } = await sandbox.commands.run(
      `cat /etc/${evil} /etc/${evil}-up /etc/${evil}-out /etc/copied`,
    );
    expect(stdout).toMatch(/^absoluteupoutroot:x:0:0:root:\/root:/);
    await sandbox.kill();
  },
);
