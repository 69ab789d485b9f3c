import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isIdOfUser } from '@skerry/runtime/testing';
import { Sandbox } from '@skerry/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installPackages } from '../base-image/install-packages.ts';
import { skerryProgram } from '../stack/skerry-program.ts';
import type { Stack } from '../stack/stack.ts';
import { createRootlessUser, type RootlessUser } from './rootless-user.ts';

let user: RootlessUser;
let stack: Stack;
beforeAll(async () => {
  user = await createRootlessUser();
  await start();
});
afterAll(async () => {
  await stack?.down();
  user.remove();
});

const start = async (): Promise<void> => {
  stack = await user.start();
};
const create = async (): Promise<Sandbox> =>
  Sandbox.connect((await stack.createSandbox({ timeoutSeconds: 600 })).sandboxId, stack.connection);
const run = async (sandbox: Sandbox, command: string): Promise<string> =>
  (await sandbox.commands.run(`${command} 2>&1 || true`)).stdout.trim();
const toPath = (sandboxID: string) => ({ params: { path: { sandboxID } } });

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

/** Every process of the test's user, and of the ids that this user gives to sandboxes. */
const listProcesses = (): string[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const status = readFileSync(`/proc/${pid}/status`, 'utf8');
        const uid = Number(/^Uid:\s+(\d+)/m.exec(status)?.[1]);
        return isIdOfUser(uid) && !/^State:\s+[ZX]/m.test(status) ? [status] : [];
      } catch {
        return []; // The process has ended.
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

  it('lets packages link to manuals and give programs the capabilities that a sandbox may have', async () => {
    const sandbox = await create();
    expect(await installPackages(sandbox)).toEqual({
      manuals: ['/etc/hostname', '/etc/hosts'],
      raw: { mode: '4755', effective: expect.any(String) },
      bind: { mode: '755', effective: '400' },
    });
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
    expect(await run(sandbox, `sudo ls ${user.dir}; sudo cat /proc/*/cmdline | tr '\\0' ' '`)).not.toMatch(
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
    const [file = '', ...args] = user.through;
    const asUser = (...command: string[]): string =>
      execFileSync(file, [...args, ...command], { encoding: 'utf8' });
    // Where its socket is to be.
    const obstacle = join(user.dir, 'home/data/run/runtime.sock');
    asUser('mkdir', '-p', `${obstacle}/x`);
    expect(asUser(process.execPath, skerryProgram, 'down', '--data', join(user.dir, 'home/data'))).toMatch(
      /^stopped \d+ sandbox(es)?\n$/,
    );
    asUser('rm', '-r', obstacle);
    await expect.poll(listProcesses).toEqual([]);
    expect(readdirSync(join(user.dir, 'home/data/sandboxes'))).toEqual([]);
    expect(existsSync(join(user.dir, 'home/.local/state/skerry'))).toBe(false);
    await start();
    await create();
  });

  it('leaves nothing when it is taken down', async () => {
    await stack.down();
    // What a process has started to work for it ends a moment after it.
    await expect.poll(listProcesses).toEqual([]);
    expect(readdirSync(join(user.dir, 'home/data/sandboxes'))).toEqual([]);
    expect(existsSync(join(user.dir, 'home/.local/state/skerry'))).toBe(false);
  });
});

describe('the rootless namespace of a command that only ends sandboxes', () => {
  it('is made without asking the service manager of the user', () => {
    const [file = '', ...args] = user.through;
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
    const [file = '', ...args] = user.through;
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
    expect(existsSync(join(user.dir, 'home/.local/state/skerry'))).toBe(false);
  });
});
