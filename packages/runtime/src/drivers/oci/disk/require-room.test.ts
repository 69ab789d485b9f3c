import { tmpdir } from 'node:os';
import { expect, it } from 'vitest';
import { findShortage, readRoom, readSpareRoom, requireRoomFor } from './require-room.ts';

const GIB = 2 ** 30;
const large = { sizeBytes: 500 * GIB, freeBytes: GIB, inodes: 1000, freeInodes: 50 };

it('a large disk keeps one GiB, and a small one a twentieth of itself', () => {
  expect(findShortage(large)).toBeUndefined();
  expect(findShortage({ ...large, freeBytes: GIB - 4096 })).toContain('1023 MiB are free');
  const small = { ...large, sizeBytes: 10 * GIB, freeBytes: GIB / 2 };
  expect(findShortage(small)).toBeUndefined();
  expect(findShortage({ ...small, freeBytes: GIB / 2 - 4096 })).toContain('reserve of 512 MiB');
});

it('inodes have a reserve where the file system counts them', () => {
  expect(findShortage({ ...large, freeInodes: 49 })).toContain('49 of 1000 inodes');
  expect(findShortage({ ...large, inodes: 0, freeInodes: 0 })).toBeUndefined();
});

it('what the kernel reports of a folder is a size and what is free of it', () => {
  const { sizeBytes, freeBytes } = readRoom(tmpdir());
  expect(freeBytes).toBeGreaterThan(0);
  expect(sizeBytes).toBeGreaterThanOrEqual(freeBytes);
});

it('a new file may take what is free beside the reserve, and no more', () => {
  const { sizeBytes } = readSpareRoom(tmpdir());
  expect(sizeBytes).toBeLessThan(readRoom(tmpdir()).freeBytes);
  expect(() => requireRoomFor(tmpdir(), sizeBytes / 2)).not.toThrow();
  expect(() => requireRoomFor(tmpdir(), sizeBytes + 100 * GIB)).toThrow(
    expect.objectContaining({ code: 'exhausted' }),
  );
});
