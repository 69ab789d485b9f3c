import { describe, expect, it } from 'vitest';
import { isSpawn } from './spawner.ts';

describe('a call that waits for a child to execute its program', () => {
  it('is distinguished from other forks and calls', () => {
    // clone with CLONE_VM and CLONE_VFORK, vfork, clone3.
    expect(isSpawn('56 0x4111 0x0 0x0 0x0 0x0 0x6 0x7ffcc43e3ff8 0x7f71a571f829\n', 'x64')).toBe(true);
    expect(isSpawn('58 0x0 0x0 0x0 0x0 0x0 0x6 0x7ffcc43e3ff8 0x7f71a571f829\n', 'x64')).toBe(true);
    expect(isSpawn('435 0x7ffcc43e3ff8 0x58 0x0 0x0 0x0 0x6 0x7ffcc43e3ff8 0x7f71a571f829\n', 'x64')).toBe(
      true,
    );
    // A fork, a sleep, a running thread, a thread that has ended.
    expect(isSpawn('56 0x1200011 0x0 0x0 0x0 0x0 0x6 0x7ffcc43e3ff8 0x7f71a571f829\n', 'x64')).toBe(false);
    expect(isSpawn('230 0x1 0x1 0x7ffcc43e4450 0x0 0x0 0x0 0x7ffcc43e4438 0x7f71a56ed503\n', 'x64')).toBe(
      false,
    );
    expect(isSpawn('running\n', 'x64')).toBe(false);
    expect(isSpawn('', 'x64')).toBe(false);
  });

  it('has other numbers on arm64, where 58 is vhangup', () => {
    expect(isSpawn('220 0x4111 0x0 0x0 0x0 0x0 0x0 0xffffd3a1e7c0 0xffff8f1c5d24\n', 'arm64')).toBe(true);
    expect(isSpawn('435 0xffffd3a1e7c8 0x58 0x0 0x0 0x0 0x0 0xffffd3a1e7c0 0xffff8f1c5d24\n', 'arm64')).toBe(
      true,
    );
    expect(isSpawn('220 0x1200011 0x0 0x0 0x0 0x0 0x0 0xffffd3a1e7c0 0xffff8f1c5d24\n', 'arm64')).toBe(false);
    expect(isSpawn('58 0x0 0x0 0x0 0x0 0x0 0x0 0xffffd3a1e7c0 0xffff8f1c5d24\n', 'arm64')).toBe(false);
    expect(isSpawn('56 0x4111 0x0 0x0 0x0 0x0 0x0 0xffffd3a1e7c0 0xffff8f1c5d24\n', 'arm64')).toBe(false);
  });
});
