import { expect, it } from 'vitest';
import { toProjectHash } from './project-hash.ts';

it('keeps uploads of each project under hashes that no client can choose for another', () => {
  const [shop, local] = ['shop', 'local'].map((project) => toProjectHash(project, 'ab'.repeat(32)));
  expect(new Set([shop, local, toProjectHash('local', shop ?? '')]).size).toBe(3);
  expect(toProjectHash('local', shop ?? '')).not.toBe(shop);
});
