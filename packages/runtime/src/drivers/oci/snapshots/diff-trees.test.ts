import { mkdtempSync, rmSync } from 'node:fs';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { diffTrees } from './diff-trees.ts';
import type { LayerEntry } from './tree-entry.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'skerry-diff-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Lists every difference between an image and a sandbox made from it. */
const changesOf = async (rootfs: string, entries: LayerEntry[]): Promise<string[]> => {
  const layer = new Map(entries.map((entry) => [entry.path, entry]));
  const found: string[] = [];
  for await (const { path, change } of diffTrees({ rootfs, layer: new Map() }, { rootfs, layer }))
    found.push(`${change} ${path}`);
  return found;
};

it("reads nothing of the host's files behind a link of the image that was replaced by a folder", async () => {
  const [rootfs, host] = [join(folder, 'rootfs'), join(folder, 'host')];
  await mkdir(join(host, 'secrets'), { recursive: true });
  await writeFile(join(host, 'secrets', 'key'), 'host');
  await writeFile(join(host, 'shadow'), 'host');
  await mkdir(rootfs);
  await symlink(host, join(rootfs, 'out'));
  const owned = { mode: 0o644, uid: 0, gid: 0 };
  const changes = await changesOf(rootfs, [
    { ...owned, path: '/out', type: 'directory', mode: 0o755 },
    { ...owned, path: '/out/secrets', type: 'file', sizeBytes: 0, sha256: '' },
    { ...owned, path: '/out/shadow', type: 'file', sizeBytes: 4, sha256: '' },
  ]);
  expect(changes).toEqual(['changed /out', 'added /out/secrets', 'added /out/shadow']);
});

const toFiles = (count: number, name: string): LayerEntry[] =>
  Array.from({ length: count }, (_, index) => ({
    ...{ path: `/${name}${index}`, type: 'file', sizeBytes: 0, sha256: '' },
    ...{ mode: 0o644, uid: 0, gid: 0 },
  }));

it('refuses a result that is too large', async () => {
  // Each of these takes six characters of JSON.
  await expect(
    changesOf(folder, toFiles(1_500, `${'\u0001'.repeat(250)}/`.repeat(16))),
  ).rejects.toMatchObject({
    code: 'unsupported',
    message: 'the two differ in too many files',
  });
});

it('ends when it is aborted', async () => {
  const abort = new AbortController();
  const layer = new Map(toFiles(10, 'file').map((entry) => [entry.path, entry]));
  const differences = diffTrees({ rootfs: folder, layer: new Map() }, { rootfs: folder, layer }, abort);
  expect(await differences.next()).toMatchObject({ done: false });
  abort.abort();
  await expect(differences.next()).rejects.toMatchObject({ name: 'AbortError' });
});

it('yields to other work while it compares many files', async () => {
  let turns = 0;
  const timer = setInterval(() => {
    turns += 1;
  }, 1);
  expect(await changesOf(folder, toFiles(20_000, 'file'))).toHaveLength(20_000);
  clearInterval(timer);
  expect(turns).toBeGreaterThan(5);
});
