import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { findTooLarge, limits, measureBundle } from './client-sizes.ts';

it('names each client that is larger than it may be, and by how much', () => {
  expect(findTooLarge(limits)).toEqual([]);
  expect(
    findTooLarge({ ...limits, sdk: limits.sdk + 1, 'platform-client': limits['platform-client'] + 200 }),
  ).toEqual([
    '@skerry/sdk has 46001 bytes in a browser, 1 too many',
    '@skerry/platform-client has 3200 bytes in a browser, 200 too many',
  ]);
});

it('counts what is loaded later as well', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'skerry-size-'));
  const noise = Array.from({ length: 2_000 }, (_, at) => Math.sin(at)).join();
  writeFileSync(join(folder, 'small.js'), 'export const now = 1;');
  writeFileSync(join(folder, 'later.js'), `export const noise = [${noise}];`);
  writeFileSync(join(folder, 'lazy.js'), "export const later = () => import('./later.js');");
  expect(await measureBundle(join(folder, 'small.js'))).toBeLessThan(100);
  expect(await measureBundle(join(folder, 'lazy.js'))).toBeGreaterThan(10_000);
  rmSync(folder, { recursive: true });
});

it('refuses a program of Node in a client', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'skerry-size-'));
  writeFileSync(join(folder, 'node.js'), "export { readFileSync } from 'node:fs';");
  await expect(measureBundle(join(folder, 'node.js'))).rejects.toThrow('node:fs');
  rmSync(folder, { recursive: true });
});
