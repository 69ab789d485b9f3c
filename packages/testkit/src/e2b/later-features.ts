import { expect, it } from 'vitest';
import type { NewestE2b } from './clients.ts';
import type { Ask } from './given.ts';

type Newest = { e2b: NewestE2b; sandbox: InstanceType<NewestE2b['Sandbox']> };
const asNewest = (ask: Ask): Newest => ask() as unknown as Newest;

/** What the middle release has and the oldest has not; written so that the newest runs it as well. */
export function middleScenario(ask: Ask): void {
  it('uploads compressed and raw, and downloads compressed', async () => {
    const { files } = asNewest(ask).sandbox;
    const text = 'again and '.repeat(50_000);
    await files.write('/tmp/compressed', text, { gzip: true });
    expect(await files.read('/tmp/compressed', { gzip: true })).toBe(text);
    await files.write('/tmp/raw', new Blob([text]).stream(), { useOctetStream: true });
    expect(await files.read('/tmp/raw')).toBe(text);
    const written = await files.writeFiles([
      { path: '/tmp/many/a', data: 'a' },
      { path: '/tmp/many/b', data: 'b' },
    ]);
    expect(written.map(({ name }) => name)).toEqual(['a', 'b']);
  });

  it('closes the input of a command, which is closed from the start unless asked for', async () => {
    const { commands } = asNewest(ask).sandbox;
    expect((await commands.run('wc -c')).stdout.trim()).toBe('0');
    const sort = await commands.run('sort', { background: true, stdin: true });
    await commands.sendStdin(sort.pid, 'b\na\n');
    await commands.closeStdin(sort.pid);
    expect((await sort.wait()).stdout).toBe('a\nb\n');
  });

  it('tells a missing file from a missing sandbox', async () => {
    const { e2b, sandbox } = asNewest(ask);
    await expect(sandbox.files.read('/nowhere')).rejects.toBeInstanceOf(e2b.FileNotFoundError);
    await expect(sandbox.files.list('/nowhere')).rejects.toBeInstanceOf(e2b.FileNotFoundError);
    const other = await e2b.Sandbox.create();
    await other.kill();
    await expect(other.getInfo()).rejects.toBeInstanceOf(e2b.SandboxNotFoundError);
    await expect(other.connect()).rejects.toBeInstanceOf(e2b.SandboxNotFoundError);
  });

  it('only ever extends the life of a sandbox by connecting', async () => {
    const { sandbox } = asNewest(ask);
    const { endAt } = await sandbox.getInfo();
    await sandbox.connect({ timeoutMs: 10_000 });
    expect((await sandbox.getInfo()).endAt).toEqual(endAt);
    await sandbox.connect({ timeoutMs: 3_000_000 });
    expect((await sandbox.getInfo()).endAt.getTime()).toBeGreaterThan(Date.now() + 2_900_000);
  });

  it('uses git inside', async () => {
    const { files, git } = asNewest(ask).sandbox;
    await git.init('/home/user/repo', { initialBranch: 'trunk' });
    await git.configureUser('Somebody', 'somebody@example.org', { scope: 'local', path: '/home/user/repo' });
    await files.write('repo/a.txt', 'a');
    expect((await git.status('/home/user/repo')).untrackedCount).toBe(1);
    await git.add('/home/user/repo');
    await git.commit('/home/user/repo', 'Say a');
    expect(await git.status('/home/user/repo')).toMatchObject({ currentBranch: 'trunk', isClean: true });
  });

  it('keeps network rules by address and by name, and refuses a name without a denial, naming the field', async () => {
    const { e2b } = asNewest(ask);
    const allowOut = ['api.example.com', '*.example.com', '9.9.9.9'];
    await expect(e2b.Sandbox.create({ network: { allowOut } })).rejects.toThrow(/400.*allowOut\[0\]/);
    const limited = await e2b.Sandbox.create({ network: { allowOut, denyOut: ['0.0.0.0/0'] } });
    // In the middle release `limited.kill()` resolves with nothing.
    expect(await e2b.Sandbox.kill(limited.sandboxId)).toBe(true);
  });
}

/** What only the newest release has. */
export function newestScenario(ask: Ask): void {
  it('keeps metadata with files and reports entries with watch events', async () => {
    const { files } = asNewest(ask).sandbox;
    const metadata = { author: 'somebody', purpose: 'a b' };
    // The kernel of gVisor has no extended attributes, without which metadata is ignored.
    const kept = ask().isolation === 'container' ? metadata : undefined;
    expect((await files.write('/tmp/kept/file', 'x', { metadata })).metadata).toEqual(kept);
    expect((await files.getInfo('/tmp/kept/file')).metadata).toEqual(kept);
    expect((await files.list('/tmp/kept')).map((entry) => entry.metadata)).toEqual([kept]);

    const seen: [string, string | undefined][] = [];
    const watch = await files.watchDir(
      '/tmp/kept',
      ({ type, entry }) => void seen.push([type, entry?.path]),
      { includeEntry: true },
    );
    await files.remove('/tmp/kept/file');
    await files.write('/tmp/kept/next', 'y');
    await expect.poll(() => seen).toContainEqual(['write', '/tmp/kept/next']);
    expect(seen.slice(0, 2)).toEqual([
      ['remove', undefined],
      ['create', '/tmp/kept/next'],
    ]);
    await watch.stop();
  });

  it('sends and closes input through the handle of a command', async () => {
    const { commands } = asNewest(ask).sandbox;
    const handle = await commands.run('cat', { background: true, stdin: true });
    await handle.sendStdin(Uint8Array.of(104, 105));
    await handle.closeStdin();
    expect((await handle.wait()).stdout).toBe('hi');
  });

  it('lists by template and start time, in either order', async () => {
    const { e2b, sandbox } = asNewest(ask);
    const { startedAt } = await sandbox.getInfo();
    const second = await e2b.Sandbox.create();
    const query = { template: ask().template, startedAfter: startedAt };
    for (const order of ['asc', 'desc'] as const) {
      const items = await e2b.Sandbox.list({ query, order }).nextItems();
      const ids = items.map(({ sandboxId }) => sandboxId);
      expect(ids).toEqual(
        order === 'asc' ? [sandbox.sandboxId, second.sandboxId] : [second.sandboxId, sandbox.sandboxId],
      );
    }
    expect(await e2b.Sandbox.list({ query: { template: 'another' } }).nextItems()).toEqual([]);
    expect(await second.kill()).toBe(true);
    expect(await second.kill()).toBe(false);
  });
}
