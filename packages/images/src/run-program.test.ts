import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findProgram, runProgram } from './run-program.ts';

describe('runProgram', () => {
  it('passes the input to the program and reports every line of both streams', async () => {
    const lines: string[] = [];
    await runProgram({
      file: '/bin/sh',
      args: ['-c', 'cat; echo second >&2'],
      input: 'first\n',
      onLine: (line) => lines.push(line),
    });
    expect(lines.toSorted()).toEqual(['first', 'second']);
  });

  it('rejects with the end of the output when the program fails', async () => {
    const run = runProgram({ file: '/bin/sh', args: ['-c', 'echo no such mirror >&2; exit 3'] });
    await expect(run).rejects.toMatchObject({
      code: 'build_failed',
      message: expect.stringMatching(/exited with 3\nno such mirror$/),
    });
  });

  it('leaves no mount on the host', async () => {
    await runProgram({
      file: '/bin/sh',
      args: ['-c', 'mount -t tmpfs inside /mnt && grep -q " /mnt tmpfs" /proc/mounts'],
    });
    expect(readFileSync('/proc/self/mounts', 'utf8')).not.toMatch(/^inside /m);
  });

  it('kills grandchildren too and rejects with the reason when the signal aborts', async () => {
    const abort = new AbortController();
    const marker = `3599.${process.pid}`;
    const run = runProgram({
      file: '/bin/sh',
      args: ['-c', `(trap "" TERM; sleep ${marker}) & echo up; wait`],
      onLine: () => abort.abort(new Error('enough')),
      signal: abort.signal,
    });
    await expect(run).rejects.toThrow('enough');
    expect(commandLines().filter((line) => line.includes(marker))).toEqual([]);
  });
});

function commandLines(): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(join('/proc', pid, 'cmdline'), 'utf8');
      } catch {
        return ''; // That process has ended.
      }
    });
}

describe('findProgram', () => {
  it('names the apt line that installs a missing program', () => {
    expect(() => findProgram('no-such-program', 'its-package')).toThrow(
      expect.objectContaining({
        code: 'missing_program',
        remedy: 'apt-get install -y --no-install-recommends its-package',
      }),
    );
  });
});
