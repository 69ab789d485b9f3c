import { appendFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { runCommand } from '../kernel/run-command.ts';
import { checkProgramHashes } from './program-hashes.ts';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'hashes-'));
  await mkdir(join(dir, 'lib'));
  await writeFile(join(dir, 'criu'), 'program');
  await writeFile(join(dir, 'lib/libc.so'), 'library');
  await checkProgramHashes(dir);
});
afterEach(() => rm(dir, { recursive: true }));

it('keeps the hash of every file, as sha256sum reads it, and takes the same files again', async () => {
  await runCommand({ file: 'sh', args: ['-c', 'cd "$0" && sha256sum --strict --check SHA256SUMS', dir] });
  expect((await readFile(join(dir, 'SHA256SUMS'), 'utf8')).split('\n')).toHaveLength(3);
  await checkProgramHashes(dir);
});

it.each([
  ['a library that was changed', 'lib/libc.so', () => appendFile(join(dir, 'lib/libc.so'), ' ')],
  ['a program that is gone', 'criu', () => rm(join(dir, 'criu'))],
  ['a library that came later', 'lib/evil.so', () => writeFile(join(dir, 'lib/evil.so'), '')],
])('refuses %s, and names it', async (_what, name, change) => {
  await change();
  await expect(checkProgramHashes(dir)).rejects.toMatchObject({
    code: 'damaged',
    message: expect.stringContaining(`${join(dir, name)} is not as it was made`),
  });
});
