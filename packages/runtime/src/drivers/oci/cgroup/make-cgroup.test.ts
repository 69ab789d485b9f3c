import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { makeCgroup } from './make-cgroup.ts';

let base: string;
beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), 'make-cgroup-'));
});
afterEach(() => rm(base, { recursive: true }));

const limits = { cpuCount: 1, memoryBytes: 2 ** 28, diskBytes: 2 ** 26, processCount: 64 };

it('stops all work when one of its trees has failed', async () => {
  const trees = Array.from({ length: 40 }, (_, index) => join(base, `controller${index}`));
  const [broken = '', ...others] = trees;
  await Promise.all(others.map((tree) => mkdir(tree)));
  await writeFile(broken, '');
  const path = `/parent${'/below'.repeat(40)}`;
  const made = makeCgroup({ version: 1, hybrid: false, trees, limitsSwap: false }, path, limits);
  await expect(made).rejects.toMatchObject({ code: 'ENOTDIR' });
  const found = await Promise.all(
    others.map((tree) =>
      stat(`${tree}${path}`).then(
        () => true,
        () => false,
      ),
    ),
  );
  expect(found).toEqual(others.map(() => true));
});
