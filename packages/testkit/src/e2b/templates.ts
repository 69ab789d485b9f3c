import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { NewestE2b } from './clients.ts';
import type { Ask } from './given.ts';

/** Templates with the builder of the client, as the middle release and the newest see them. */
export function templatesScenario(ask: Ask): void {
  const askBuilder = () => ask().e2b as unknown as NewestE2b;

  it('builds a template in steps, shows its log, and creates sandboxes from it', async () => {
    const { Template, Sandbox } = askBuilder();
    // Of this release and this way alone: the service keeps the names of all.
    const alias = `built-with-${ask().sandbox.sandboxId}`;
    const template = Template()
      .fromTemplate('base')
      .setWorkdir('/srv/app')
      .setEnvs({ GREETING: 'hello' })
      .runCmd('echo $GREETING > said')
      .runCmd('id -un > /root/who', { user: 'root' });
    const messages: string[] = [];
    expect(await Template.exists(alias)).toBe(false);
    const built = await Template.build(template, {
      alias,
      cpuCount: 1,
      memoryMB: 256,
      onBuildLogs: ({ message }) => messages.push(message),
    });
    expect(built).toMatchObject({ templateId: expect.stringMatching(/^[a-z0-9]{20}$/) });
    expect(messages.join('\n')).toContain('RUN echo $GREETING > said');
    expect(await Template.exists(alias)).toBe(true);
    const sandbox = await Sandbox.create(alias);
    expect(await sandbox.files.read('/srv/app/said')).toBe('hello\n');
    expect((await sandbox.commands.run('cat /root/who', { user: 'root' })).stdout).toBe('root\n');
    await sandbox.kill();
  });

  it('copies files of its own into a template, over the address that the client uses', async () => {
    const { Template, Sandbox } = askBuilder();
    const alias = `copied-with-${ask().sandbox.sandboxId}`;
    const folder = mkdtempSync(join(tmpdir(), 'skerry-context-'));
    writeFileSync(join(folder, 'note.txt'), 'copied');
    const template = Template({ fileContextPath: folder }).fromTemplate('base').copy('note.txt', '/srv/');
    await Template.build(template, { alias });
    const sandbox = await Sandbox.create(alias);
    expect(await sandbox.files.read('/srv/note.txt')).toBe('copied');
    await sandbox.kill();
    rmSync(folder, { recursive: true });
  });

  it('tells which step of a template failed, and why', async () => {
    const { Template } = askBuilder();
    const alias = `broken-with-${ask().sandbox.sandboxId}`;
    const broken = Template().fromTemplate('base').runCmd('true').runCmd('exit 3');
    await expect(Template.build(broken, { alias })).rejects.toThrow(/'exit 3': exit status 3/);
    const unknown = Template().fromTemplate('base').runCmd('whoami', { user: 'stranger' });
    await expect(Template.build(unknown, { alias })).rejects.toThrow(
      "failed to run command 'whoami': command failed: unauthenticated: invalid username: 'stranger'",
    );
  });
}
