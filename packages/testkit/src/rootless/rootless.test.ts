import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isIdOfUser } from '@skerry/runtime/suite-user';
import { Sandbox } from '@skerry/sdk';
import { templates } from '@skerry/sdk/template';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { imagesDir } from '../stack/images-dir.ts';
import { joinStack } from '../stack/shared-stack.ts';
import { skerryProgram } from '../stack/skerry-program.ts';
import { type Stack, startStack } from '../stack/stack.ts';
import { makeArchive, toFilesHash } from '../templates/archive.ts';
import { createBuildClient } from '../templates/build-client.ts';
import { type DebianRegistry, startDebianRegistry } from '../templates/debian-registry.ts';
import { makeDockerArchive, pushBusybox } from './busybox-images.ts';

const program = fileURLToPath(new URL('./main.ts', import.meta.url));

let dir: string;
let through: string[];
let stack: Stack;
let registry: DebianRegistry;
beforeAll(async () => {
  // The image that is shown to the user is root's, which a server of root makes where there is none.
  await joinStack();
  dir = mkdtempSync(join(tmpdir(), 'skerry-rootless-'));
  const asUser = [process.execPath, program, dir, imagesDir];
  registry = await startDebianRegistry();
  through = ['unshare', '--mount', '--propagation', 'private', ...asUser];
  await start();
});
afterAll(async () => {
  await stack?.down();
  await registry?.[Symbol.asyncDispose]();
  rmSync(dir, { recursive: true, force: true });
});

const start = async (): Promise<void> => {
  stack = await startStack({
    dataDir: join(dir, 'home/data'),
    through,
    args: ['--registry', registry.host],
  });
};
const create = async (): Promise<Sandbox> =>
  Sandbox.connect((await stack.createSandbox({ timeoutSeconds: 600 })).sandboxId, stack.connection);
const run = async (sandbox: Sandbox, command: string): Promise<string> =>
  (await sandbox.commands.run(`${command} 2>&1 || true`)).stdout.trim();
const toPath = (sandboxID: string) => ({ params: { path: { sandboxID } } });

const fromTemplate = (template: string): Promise<Sandbox> =>
  Sandbox.create({ ...stack.connection, template, timeoutMs: 600_000 });
/** What lies in a folder of the data folder; nothing when it is missing. */
const list = (name: string): string[] => {
  const folder = join(dir, 'home/data', name);
  return existsSync(folder) ? readdirSync(folder) : [];
};

/** Forks until that is refused: prints the error's number (EAGAIN), and whether that was soon. */
const forkBomb = `import os, signal
children = []
try:
    while len(children) < 5000:
        child = os.fork()
        if child == 0:
            signal.pause()
        children.append(child)
except OSError as error:
    print(error.errno, len(children) < 1100)
for child in children:
    os.kill(child, 9)
`;

/** Every process of the test's user, and of the ids that he gives to sandboxes. */
const listProcesses = (): string[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const status = readFileSync(`/proc/${pid}/status`, 'utf8');
        const uid = Number(/^Uid:\s+(\d+)/m.exec(status)?.[1]);
        return isIdOfUser(uid) && !/^State:\s+[ZX]/m.test(status) ? [status] : [];
      } catch {
        return []; // It has ended.
      }
    });

describe('skerry up of an ordinary user', () => {
  it('says which limits its sandboxes lack', () => {
    expect(stack.log()).toContain('sandboxes have no limit of cpu, memory, disk');
    // The user of this test has no session, and so no service manager.
    expect(stack.log()).toMatch(/limits do not hold: \S.+; fix: \S/);
  });

  it('gives sandboxes that run commands, keep files, let sudo work and lead out by its own resolver', async () => {
    const sandbox = await create();
    await sandbox.files.write('/home/user/hello.py', 'print(6 * 7)');
    expect(await run(sandbox, 'python3 hello.py; id -u; sudo id -u; cat /etc/resolv.conf')).toBe(
      '42\n1000\n0\nnameserver 10.0.2.3',
    );
    expect(await run(sandbox, 'ip -o route get 1.1.1.1')).toMatch(/dev eth0 src 10\.201\./);
    await sandbox.kill();
  });

  it('mounts the sockets of the agent and the boot id with all restrictions', async () => {
    const sandbox = await create();
    const lines = (await run(sandbox, 'cat /proc/self/mountinfo')).split('\n').map((line) => line.split(' '));
    const flagsOf = (target: string) => lines.findLast(([, , , , path]) => path === target)?.[5]?.split(',');
    const restrictions = ['nosuid', 'nodev', 'noexec'];
    expect(flagsOf('/run/envd')).toEqual(expect.arrayContaining(['rw', ...restrictions]));
    const bootId = flagsOf('/proc/sys/kernel/random/boot_id');
    expect(bootId).toEqual(expect.arrayContaining(['ro', ...restrictions]));
    await sandbox.kill();
  });

  it('keeps the code inside from the user, his files, his processes and his host', async () => {
    const sandbox = await create();
    const processes = listProcesses();
    expect(processes.some((status) => /^Name:\s+tini$/m.test(status) && /^Seccomp:\s+2$/m.test(status))).toBe(
      true,
    );
    // No id inside is the user's own, who is 0 outside of it.
    expect((await run(sandbox, 'cat /proc/self/uid_map')).split(/\s+/)).toEqual(['0', '1', '65536']);
    expect(await run(sandbox, `sudo ls ${dir}; sudo cat /proc/*/cmdline | tr '\\0' ' '`)).not.toMatch(
      /sleep infinity|slirp4netns|main\.ts|sandboxes/,
    );
    expect(await run(sandbox, 'sudo unshare --user --map-root-user true')).toMatch(
      /not permitted|not implemented/,
    );
    const mount = 'import ctypes; print(ctypes.CDLL(None).mount(b"none", b"/mnt", b"tmpfs", 0, None))';
    expect(await run(sandbox, `sudo python3 -c '${mount}'`)).toBe('-1');
    // The host as slirp4netns shows it, and a metadata service.
    for (const address of ['10.0.2.2', '169.254.169.254'])
      expect(await run(sandbox, `curl -sS -m 3 http://${address}/`), address).toMatch(
        /Could ?n.t connect|Failed/,
      );
    await sandbox.files.write('/home/user/bomb.py', forkBomb);
    expect(await run(sandbox, 'python3 bomb.py')).toBe('11 True');
    await sandbox.kill();
  });

  it('refuses by name what it cannot do', async () => {
    const { sandboxId } = await create();
    const pause = await stack.api.POST('/sandboxes/{sandboxID}/pause', { ...toPath(sandboxId), body: {} });
    expect(pause.response.status).toBe(400);
    expect(pause.error?.message).toContain('memory');
    const snapshot = await stack.api.POST('/sandboxes/{sandboxID}/snapshots', {
      ...toPath(sandboxId),
      body: {},
    });
    expect(snapshot.response.status).toBe(501);
    const fork = await stack.api.POST('/sandboxes/{sandboxID}/fork', { ...toPath(sandboxId), body: {} });
    expect(fork.response.status).toBe(501);
    const diff = await stack.api.GET('/skerry/v1/snapshots/diff', { params: { query: { to: sandboxId } } });
    expect(diff.response.status).toBe(501);
    await stack.api.DELETE('/sandboxes/{sandboxID}', toPath(sandboxId));
  });

  it('builds templates as folders, which sandboxes share and a deletion removes', async () => {
    await pushBusybox(registry);
    const { build, register, start: startBuild, upload } = createBuildClient(stack);
    const first = await register('first');
    const hash = toFilesHash('rootless');
    const archive = await makeArchive([{ name: 'file', content: 'copied' }]);
    expect(await upload(first.templateID, hash, archive)).toBe(204);
    const body = {
      fromImage: `${registry.host}/test/busybox`,
      steps: [
        { type: 'USER', args: ['worker'] },
        { type: 'WORKDIR', args: ['/srv/app'] },
        { type: 'ENV', args: ['NAME', 'one'] },
        { type: 'RUN', args: ['echo $NAME > made; echo x > setuid; chmod 4755 setuid'] },
        { type: 'RUN', args: ['rm -r /gone /replaced; mkdir /replaced; chown 70:80 /replaced', 'root'] },
        { type: 'COPY', args: ['file', 'kept', 'root', '604'], filesHash: hash },
      ],
    };
    const built = await build(first, body);
    expect(built.reason).toBeUndefined();
    expect(list('templates')).toEqual([
      expect.stringMatching(/^sha256-[0-9a-f]{64}$/),
      expect.stringMatching(/^sha256-[0-9a-f]{64}$/),
    ]);
    const messages = built.logEntries.map(({ message }) => message);
    expect(messages).toContain('not kept: this host cannot capture files');

    const look = `cat made kept; stat -c ' %U %G %a' made setuid kept; stat -c '%u:%g' /replaced; ls -A /replaced`;
    const sandboxes = await Promise.all([fromTemplate('first'), fromTemplate('first')]);
    for (const sandbox of sandboxes)
      expect(await run(sandbox, `cd /srv/app; ${look}; test -e /gone; echo $? $COLOUR`)).toBe(
        'one\ncopied worker worker 644\n worker worker 4755\n root root 604\n70:80\n1 blue',
      );
    await sandboxes[0]?.commands.run('echo mine > /srv/app/made', { user: 'root' });
    expect(await run(sandboxes[1] as Sandbox, 'cat /srv/app/made')).toBe('one');

    // All steps are found, and no sandbox is made.
    const again = await build(await register('again'), body);
    expect(again.logEntries.map(({ message }) => message).join('\n')).toMatch(/CACHED \S+ step 6: COPY/);
    expect(list('templates')).toHaveLength(2);

    const started = await register('started');
    const startCmd = 'echo yes > /home/user/started; sleep 1000';
    expect(
      await build(started, { fromTemplate: 'first', startCmd, readyCmd: 'test -e /home/user/started' }),
    ).toMatchObject({ status: 'ready' });
    const { data } = await stack.api.GET('/templates/{templateID}', {
      params: { path: { templateID: started.templateID } },
    });
    expect(data?.builds).toMatchObject([{ startsFrom: 'command' }]);
    const server = await fromTemplate('started');
    expect(await run(server, 'cat /home/user/started')).toBe('yes');

    const based = await build(await register('based'), {
      fromTemplate: 'base',
      steps: [{ type: 'RUN', args: ['sudo rm -r /usr/share/doc; git --version > git'] }],
    });
    expect(based.reason).toBeUndefined();
    const onBase = await fromTemplate('based');
    expect(await run(onBase, 'cat git; test -e /usr/share/doc; echo $?; sudo id -u')).toMatch(
      /^git version .*\n1\n0$/,
    );

    await templates.load('loaded', new Blob([await makeDockerArchive()]), stack.connection).result();
    const onLoaded = await fromTemplate('loaded');
    expect(await run(onLoaded, 'stat -c "%a %u:%g %h" /srv/one /srv/two /srv/able')).toBe(
      '4750 1234:65535 2\n4750 1234:65535 2\n644 0:0 1',
    );

    const saved = await stack.api.GET('/skerry/v1/images/{templateID}', {
      params: { path: { templateID: 'first' } },
    });
    expect([saved.response.status, saved.error?.message]).toEqual([
      501,
      expect.stringContaining('needs root'),
    ]);

    const remove = async (templateID: string): Promise<number> =>
      (await stack.api.DELETE('/templates/{templateID}', { params: { path: { templateID } } })).response
        .status;
    expect(await remove('first')).toBe(400);
    for (const sandbox of [...sandboxes, server, onBase, onLoaded]) await sandbox.kill();
    for (const name of ['first', 'again', 'started', 'based', 'loaded']) expect(await remove(name)).toBe(204);
    await stack.api.DELETE('/skerry/v1/build-cache', { params: { query: {} } });
    await expect.poll(() => list('templates')).toEqual([]);

    // Killed while it writes the image of a build.
    await startBuild(await register('killed'), {
      fromTemplate: 'base',
      steps: [{ type: 'RUN', args: ['echo > half'] }],
    });
    await expect.poll(() => list('templates').filter((name) => name.startsWith('.'))).toHaveLength(1);
    await stack.kill();
    await start();
    expect(list('templates')).toEqual([]);
    expect(list('sandboxes')).toEqual([]);
    expect(list('run').filter((name) => name.startsWith('export-'))).toEqual([]);
  });

  it('keeps files over a pause, and processes over a server that was killed', async () => {
    const sandbox = await create();
    const other = await create();
    await sandbox.files.write('/home/user/kept', 'kept');
    await sandbox.commands.run('ln -s kept link; sudo mkdir -m 700 /srv/own; rm .profile');
    const trees = 'sudo find /home/user /srv -xdev -printf "%p %y %u %m %l\\n" | sort; cat kept';
    const before = await run(sandbox, trees);
    await sandbox.pause({ memory: false });
    const { pid } = await other.commands.run('sleep 1000', { background: true, timeoutMs: 0 });

    await stack.kill();
    await start();
    const resumed = await Sandbox.connect(sandbox.sandboxId, stack.connection);
    expect(await run(resumed, trees)).toBe(before);
    const found = await Sandbox.connect(other.sandboxId, stack.connection);
    expect((await found.commands.list()).map((command) => command.pid)).toContain(pid);
    const { data: metrics } = await stack.api.GET('/sandboxes/{sandboxID}', toPath(other.sandboxId));
    expect(metrics?.state).toBe('running');
  });

  it('ends sandboxes that nothing could find any more, after what held their namespaces was killed', async () => {
    const isOf = (name: RegExp) => (status: string) => name.test(status);
    const holder = listProcesses().find(isOf(/^Name:\s+sleep\n(?:.*\n)*Uid:\s+64321\s/));
    await stack.kill();
    process.kill(Number(/^Pid:\s+(\d+)/m.exec(holder ?? '')?.[1]), 'SIGKILL');
    expect(listProcesses().some(isOf(/^Name:\s+tini$/m))).toBe(true);
    await start();
    expect(listProcesses().some(isOf(/^Name:\s+tini$/m))).toBe(false);
    const { data } = await stack.api.GET('/v2/sandboxes', { params: { query: { state: ['running'] } } });
    expect(data).toEqual([]);
    const sandbox = await create();
    expect(await run(sandbox, 'id -un')).toBe('user');
  });

  it('leaves nothing when it is taken down where no helper can be started', async () => {
    await create();
    await stack.stop();
    const [file = '', ...args] = through;
    const asUser = (...command: string[]): string =>
      execFileSync(file, [...args, ...command], { encoding: 'utf8' });
    // Where its socket is to be.
    const obstacle = join(dir, 'home/data/run/runtime.sock');
    asUser('mkdir', '-p', `${obstacle}/x`);
    expect(asUser(process.execPath, skerryProgram, 'down', '--data', join(dir, 'home/data'))).toMatch(
      /^stopped \d+ sandbox(es)?\n$/,
    );
    asUser('rm', '-r', obstacle);
    await expect.poll(listProcesses).toEqual([]);
    expect(readdirSync(join(dir, 'home/data/sandboxes'))).toEqual([]);
    expect(existsSync(join(dir, 'home/.local/state/skerry'))).toBe(false);
    await start();
    await create();
  });

  it('leaves nothing when it is taken down', async () => {
    await stack.down();
    // What a process has started to work for it ends a moment after it.
    await expect.poll(listProcesses).toEqual([]);
    expect(readdirSync(join(dir, 'home/data/sandboxes'))).toEqual([]);
    expect(existsSync(join(dir, 'home/.local/state/skerry'))).toBe(false);
  });
});

describe('the rootless namespace of a command that only ends sandboxes', () => {
  it('is made without asking the service manager of the user', () => {
    const [file = '', ...args] = through;
    const runtime = fileURLToPath(new URL('../../../runtime/src/index.ts', import.meta.url));
    const script = `const { ensureRootlessNamespace, endRootlessNamespace } = await import(${JSON.stringify(runtime)});
      const stateDir = process.env.HOME + '/ends-alone';
      const { limits } = await ensureRootlessNamespace({ stateDir, startsNone: true });
      await endRootlessNamespace({ stateDir });
      console.log(limits.reason);`;
    const command = [process.execPath, '--no-warnings', '--input-type=module', '-e', script];
    expect(execFileSync(file, [...args, ...command], { encoding: 'utf8' })).toBe(
      'the rootless namespace was made by a command that only ends sandboxes\n',
    );
  });
});

describe('skerry doctor of an ordinary user', () => {
  it('starts a sandbox, names what root would add, and leaves nothing', async () => {
    const [file = '', ...args] = through;
    const out = execFileSync(file, [...args, process.execPath, skerryProgram, 'doctor', '--json'], {
      encoding: 'utf8',
    });
    const results = JSON.parse(out) as { name: string; ok: boolean; needed: boolean; found: string }[];
    expect(results.filter(({ needed, ok }) => needed && !ok)).toEqual([]);
    expect(results.find(({ name }) => name === 'crun')?.found).toMatch(/starts a sandbox in \d+ ms/);
    // Whether these are low depends on the host.
    const isOfHost = (name: string): boolean => name === 'inotify' || name.endsWith(' version');
    const missing = results.filter(({ ok, name }) => !ok && !isOfHost(name));
    expect(missing.map(({ name }) => name)).toEqual(['root', 'limits', 'snapshots', 'memory']);
    await expect.poll(listProcesses).toEqual([]);
    expect(existsSync(join(dir, 'home/.local/state/skerry'))).toBe(false);
  });
});
