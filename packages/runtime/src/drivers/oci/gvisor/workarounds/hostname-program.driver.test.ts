import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { toHostnameProgram } from './hostname-program.ts';

const run = (program: Buffer, script: string) => {
  const folder = mkdtempSync(join(tmpdir(), 'hostname-'));
  try {
    const path = join(folder, 'program');
    writeFileSync(path, program, { mode: 0o755 });
    return spawnSync('unshare', ['--uts', 'sh', '-c', script, path], { encoding: 'utf8' });
  } finally {
    rmSync(folder, { recursive: true });
  }
};

describe('the program that sets a host name', () => {
  it('sets the name of its sandbox, and no other', () => {
    const before = hostname();
    for (const name of ['b', 'box-1', 'x'.repeat(64)]) {
      expect(run(toHostnameProgram(name), '"$0" && uname -n').stdout).toBe(`${name}\n`);
    }
    expect(hostname()).toBe(before);
  });

  it('exits with the error number where that is refused', () => {
    const EPERM = 1;
    expect(run(toHostnameProgram('box'), 'exec setpriv --bounding-set=-all "$0"').status).toBe(EPERM);
  });

  it('differs on arm64, and does not exist for an unknown architecture', () => {
    const program = toHostnameProgram('box', 'arm64');
    expect(program.readUInt16LE(18)).toBe(183);
    expect(program.subarray(120).toString('hex')).toBe(
      'e0000010' + '610080d2' + '281480d2' + '010000d4' + 'e00300cb' + 'c80b80d2' + '010000d4' + '626f78',
    );
    expect(() => toHostnameProgram('box', 'riscv64')).toThrow('riscv64');
  });
});
