import { openSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { runCommand } from './run-command.ts';

describe('runCommand', () => {
  it('hands over stdin and descriptors and resolves with stdout', async () => {
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

  it('resolves when it ends as one of those that are no failure', async () => {
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
    const script = `import { runCommand } from '${module}'; await runCommand({ file: '/etc/passwd', args: [] }).catch((error) => console.log(error.code));`;
    // With its time, after which it is killed.
    expect(
      await runCommand({ file: process.execPath, args: ['--input-type=module-typescript', '-e', script] }),
    ).toBe('internal\n');
  });

  it('kills the command and rejects with "unavailable" on abort', async () => {
    // It would go on for longer than a test may take.
    await expect(
      runCommand({ file: 'sleep', args: ['1000'], timeoutMs: 2_000_000, signal: AbortSignal.timeout(50) }),
    ).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('kills a command that outlives its time', async () => {
    await expect(runCommand({ file: 'sleep', args: ['1000'], timeoutMs: 50 })).rejects.toThrow(/SIGKILL/);
  });

  it('is not disturbed by a command that does not read its stdin', async () => {
    expect(await runCommand({ file: 'true', args: [], input: 'x'.repeat(1 << 20) })).toBe('');
  });
});
