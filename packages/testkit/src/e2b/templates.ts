import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { NewestE2b } from './clients.ts';
import type { Ask } from './given.ts';

/** Templates with the builder of the client, as the middle release and the newest see them. */
export function templatesScenario(ask: Ask, askImage: () => string): void {
  const askBuilder = () => ask().e2b as unknown as NewestE2b;

  it('builds a template in steps, shows its log, and creates sandboxes from it', async () => {
    const { Template, Sandbox } = askBuilder();
    // A name of this release and this way alone: the service keeps the names of all.
    const alias = `built-with-${ask().sandbox.sandboxId}`;
    const template = Template()
      .fromTemplate(ask().template)
      .setWorkdir('/srv/app')
      .setEnvs({ GREETING: 'hello' })
      .runCmd('echo $GREETING > said')
      .runCmd('id -un > /root/who', { user: 'root' })
      .setUser('worker')
      .runCmd('id -un > /tmp/worker');
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
    const { stdout } = await sandbox.commands.run('cat /root/who /tmp/worker', { user: 'root' });
    expect(stdout).toBe('root\nworker\n');
    expect((await sandbox.commands.run('id -un; pwd; echo $GREETING-')).stdout).toBe('worker\n/srv/app\n-\n');
    await sandbox.kill();
  });

  it('begins sandboxes and builds on a template as the user that it has set last, in the home of that', async () => {
    const { Template, Sandbox } = askBuilder();
    const alias = `guest-with-${ask().sandbox.sandboxId}`;
    await Template.build(Template().fromTemplate(ask().template).setUser('guest').runCmd('pwd > /tmp/seen'), {
      alias,
    });
    const child = `${alias}-child`;
    await Template.build(Template().fromTemplate(alias).runCmd('id -un >> /tmp/seen'), { alias: child });
    const sandbox = await Sandbox.create(child);
    expect(await sandbox.files.read('/tmp/seen')).toBe('/home/guest\nguest\n');
    expect((await sandbox.commands.run('whoami; pwd')).stdout).toBe('guest\n/home/guest\n');
    await sandbox.files.write('note', 'text');
    expect((await sandbox.commands.run('stat -c "%n %U" /home/guest/note')).stdout).toBe(
      '/home/guest/note guest\n',
    );
    await sandbox.kill();
  });

  it('copies files of its own into a template, over the address that the client uses', async () => {
    const { Template, Sandbox } = askBuilder();
    const alias = `copied-with-${ask().sandbox.sandboxId}`;
    const folder = mkdtempSync(join(tmpdir(), 'skerry-context-'));
    mkdirSync(join(folder, 'app'));
    writeFileSync(join(folder, 'note.txt'), 'copied');
    writeFileSync(join(folder, 'app/run'), 'run', { mode: 0o755 });
    symlinkSync('run', join(folder, 'app/link'));
    const template = Template({ fileContextPath: folder })
      .fromTemplate(ask().template)
      .copy('note.txt', '/srv/')
      .copy('*.txt', '/srv/notes/', { user: 'root', mode: 0o600 })
      .copy('app', '/srv/app')
      .copy('app/link', '/srv/followed', { resolveSymlinks: true });
    await Template.build(template, { alias });
    const sandbox = await Sandbox.create(alias);
    expect(await sandbox.files.read('/srv/note.txt')).toBe('copied');
    const paths = 'notes/note.txt app/run app/link followed';
    expect((await sandbox.commands.run(`cd /srv; stat -c '%F %a %U' ${paths}`)).stdout.split('\n')).toEqual([
      ...['regular file 600 root', 'regular file 755 user', 'symbolic link 777 user'],
      ...['regular file 755 user', ''],
    ]);
    await sandbox.kill();
    rmSync(folder, { recursive: true });
  });

  it('builds in the background from an image of a registry, and deletes the template', async () => {
    const { ApiClient, ConnectionConfig, Template, Sandbox, waitForFile } = askBuilder();
    const name = `background-with-${ask().sandbox.sandboxId}`;
    const template = Template()
      .fromImage(askImage())
      .setStartCmd('echo started > /tmp/ready; exec sleep 1000', waitForFile('/tmp/ready'));
    const built = await Template.buildInBackground(template, name, { cpuCount: 1, memoryMB: 256 });
    const messages: string[] = [];
    await expect
      .poll(async () => {
        const found = await Template.getBuildStatus(built, { logsOffset: messages.length });
        messages.push(...found.logEntries.map(({ message }) => message));
        return found.status;
      })
      .toMatch(/ready|error/);
    expect(messages).toContain(`FROM ${askImage()}`);
    const sandbox = await Sandbox.create(name);
    expect(await sandbox.files.read('/tmp/ready')).toBe('started\n');
    const params = { path: { templateID: built.templateId } };
    const remove = () =>
      new ApiClient(new ConnectionConfig()).api.DELETE('/templates/{templateID}', { params });
    expect((await remove()).response.status).toBe(400);
    await sandbox.kill();
    expect((await remove()).response.status).toBe(204);
    expect(await Template.exists(name)).toBe(false);
  });

  it('tells which step of a template failed, and why', async () => {
    const { Template } = askBuilder();
    const alias = `broken-with-${ask().sandbox.sandboxId}`;
    const broken = Template().fromTemplate(ask().template).runCmd('true').runCmd('exit 3');
    await expect(Template.build(broken, { alias })).rejects.toThrow(/'exit 3': exit status 3/);
    const unknown = Template().fromTemplate(ask().template).runCmd('whoami', { user: 'stranger' });
    await expect(Template.build(unknown, { alias })).rejects.toThrow(
      "failed to run command 'whoami': command failed: unauthenticated: invalid username: 'stranger'",
    );
  });
}
