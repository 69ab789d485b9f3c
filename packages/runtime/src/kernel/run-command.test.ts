import { openSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type CommandError, runCommand } from './run-command.ts';

describe('runCommand', () => {
  it('passes on stdin and descriptors, and resolves with stdout', async () => {
    const fd = openSync('/etc/hostname', 'r');
    expect(
      await runCommand({ file: 'cat', args: ['-', '/proc/self/fd/3'], input: 'in:', fds: [fd] }),
    ).toMatch(/^in:./);
  });

  it('rejects with the end of stderr when the command fails', async () => {
    await expect(runCommand({ file: 'ls', args: ['/no/such/place'] })).rejects.toMatchObject({
      code: 'internal',
      message: expect.stringContaining('/no/such/place'),
    });
  });

  it('resolves when the command exits with one of the codes in exitCodes', async () => {
    const line = { file: 'sh', args: ['-c', 'echo said; exit 3'] };
    expect(await runCommand({ ...line, exitCodes: [0, 3] })).toBe('said\n');
    await expect(runCommand({ ...line, exitCodes: [0, 1] })).rejects.toMatchObject({ code: 'internal' });
  });

  it('rejects with "internal" when there is no such command', async () => {
    await expect(runCommand({ file: 'no-such-command', args: [] })).rejects.toMatchObject({
      code: 'internal',
    });
  });

  it('does not keep its process alive when a command cannot be started', async () => {
    const module = new URL('./run-command.ts', import.meta.url).href;
    const script = `import { type CommandError, runCommand } from '${module}'; await runCommand({ file: '/etc/passwd', args: [] }).catch((error) => console.log(error.code));`;
    // The default timeout would keep it alive for 30 s.
    expect(
      await runCommand({ file: process.execPath, args: ['--input-type=module-typescript', '-e', script] }),
    ).toBe('internal\n');
  });

  it('kills the command and rejects with "unavailable" on abort', async () => {
    // Longer than a test may take.
    await expect(
      runCommand({ file: 'sleep', args: ['1000'], timeoutMs: 2_000_000, signal: AbortSignal.timeout(50) }),
    ).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('kills a command that outlives its time, with what it has started', async () => {
    const mark = `1000.${process.pid}`;
    const hung = runCommand({ file: 'sh', args: ['-c', `sleep ${mark} & wait`], timeoutMs: 100 });
    await expect(hung).rejects.toThrow('sh did not end within 100 ms');
    // A signal is delivered to the processes of a group one by one.
    await expect
      .poll(() => runCommand({ file: 'pgrep', args: ['-f', `^sleep ${mark}$`] }).catch((error) => error))
      .toMatchObject({ end: 1 });
  });

  it('rejects in time when a process that has left the group holds the output open', async () => {
    const mark = `1001.${process.pid}`;
    const args = ['-c', `setsid sleep ${mark} & exit 0`];
    const begunMs = performance.now();
    await expect(runCommand({ file: 'sh', args, timeoutMs: 200 })).rejects.toThrow(
      'did not end within 200 ms',
    );
    expect(performance.now() - begunMs).toBeLessThan(20_000);
    await runCommand({ file: 'pkill', args: ['-f', `^sleep ${mark}$`] });
  });

  it('rejects with "exhausted" when another process kills the command, as the kernel does for want of memory', async () => {
    await expect(runCommand({ file: 'sh', args: ['-c', 'kill -9 $$'] })).rejects.toMatchObject({
      code: 'exhausted',
    });
  });

  it('keeps the first MiB of stdout and the end of stderr', async () => {
    const noise = (name: string): string => `head -c 3000000 /dev/zero | tr '\\0' ${name}`;
    const script = `${noise('o')}; { ${noise('e')}; echo end; } >&2; exit 3`;
    const error = await runCommand({ file: 'sh', args: ['-c', script] }).catch((reason: unknown) => reason);
    expect(error).toMatchObject({
      end: 3,
      message: expect.stringMatching(/exited with 3: e{4000,4096}end$/),
    });
    const { stdout } = error as CommandError;
    expect(stdout.length).toBeGreaterThanOrEqual(1 << 20);
    expect(stdout.length).toBeLessThan(1.2 * (1 << 20));
  });

  it('resolves for a command that does not read its stdin', async () => {
    expect(await runCommand({ file: 'true', args: [], input: 'x'.repeat(1 << 20) })).toBe('');
  });
});
