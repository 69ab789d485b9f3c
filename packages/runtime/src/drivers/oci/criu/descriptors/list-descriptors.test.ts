import { once } from 'node:events';
import { createServer } from 'node:net';
import { pid } from 'node:process';
import { expect, it } from 'vitest';
import {
  listDescriptors,
  MAX_DESCRIPTORS,
  readDescriptor,
  requireFewDescriptors,
} from './list-descriptors.ts';

/** More than the allowed maximum. */
const NOBODY = 2 ** 30;

it('lists what processes have open, and skips one that has ended', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const links = [...listDescriptors([NOBODY, pid])].map(readDescriptor);
  expect(links.some((link) => /^socket:\[\d+\]$/.test(link))).toBe(true);
  expect(readDescriptor({ pid: NOBODY, name: '0' })).toBe('');
  server.close();
});

it('rejects for more than a pause can check, and reads no more of them', async () => {
  await requireFewDescriptors([pid]);
  const many = Array.from({ length: MAX_DESCRIPTORS }, () => pid);
  await expect(requireFewDescriptors(many)).rejects.toMatchObject({
    code: 'blocked',
    obstacle: { kind: 'too_many_files' },
  });
  expect([...listDescriptors(many)]).toHaveLength(MAX_DESCRIPTORS + 1);
});
