import { describe, expect, it } from 'vitest';
import { createProgram } from '../../program.ts';

const exec = (...argv: string[]): Promise<unknown> =>
  createProgram({ version: '0.0.0' }).parseAsync(['node', 'skerry', 'sandbox', 'exec', ...argv]);

describe('skerry sandbox exec', () => {
  it('reports in one line that options come before the id', async () => {
    await expect(exec('i1', '-u', 'root', '--', 'ls', '-l')).rejects.toThrow(
      /^options come before the id: skerry sandbox exec -u root i1 -- ls -l$/,
    );
    await expect(exec('i1', '--tty')).rejects.toThrow(
      /^options come before the id: skerry sandbox exec --tty i1 -- COMMAND$/,
    );
  });

  it('runs the words after -- as the command, also when it begins with a dash', async () => {
    const nowhere = ['--data', '/nonexistent'];
    await expect(exec(...nowhere, 'i1', '--', '-u', 'root')).rejects.toThrow(/nonexistent/);
    await expect(exec(...nowhere, 'i1', '--')).rejects.toThrow('name a command after --');
  });
});
