import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';

const load = (name: string): string => JSON.stringify(new URL(name, import.meta.url).href);

/** Closes the descriptors of namespaces of this kind, through which the thread returns. */
const loseTheWayBack = (kind: string): string => `
  for (const fd of fs.readdirSync('/proc/self/fd')) {
    let target = '';
    try { target = fs.readlinkSync('/proc/self/fd/' + fd); } catch {}
    if (target.startsWith('${kind}:')) fs.closeSync(Number(fd));
  }`;

/** Runs a program that reports what it does after the switch; one that aborts in the switch reports nothing. */
const run = (program: string) => {
  const lines = `
    import fs from 'node:fs';
    process.on('uncaughtException', () => console.log('lives on'));
    process.on('exit', () => console.log('exits'));
    setTimeout(() => {}, 500);
    ${program}`;
  const { signal, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', lines], {
    encoding: 'utf8',
    timeout: 30_000,
  });
  return { signal, stdout, message: stderr.split('\n')[0] };
};

describe('the return from another namespace', () => {
  it('aborts the process at once when it fails from private mounts', () => {
    const { signal, stdout, message } = run(`
      const { inPrivateMounts } = await import(${load('./private-mounts.ts')});
      inPrivateMounts(() => {}, () => {${loseTheWayBack('mnt')}});`);
    expect({ signal, stdout }).toEqual({ signal: 'SIGABRT', stdout: '' });
    expect(message).toContain('cannot return to the mounts of the host');
  });

  it('aborts the process at once when it fails from a network namespace', () => {
    const { signal, stdout, message } = run(`
      const { spawn } = await import('node:child_process');
      const { openNetworkNamespace, inNetworkNamespace } = await import(${load('./network-namespace.ts')});
      const other = spawn('unshare', ['--net', 'sh', '-c', 'echo ready; read _'], { stdio: ['pipe', 'pipe', 'ignore'] });
      await new Promise((resolve) => other.stdout.once('data', resolve));
      const namespace = await openNetworkNamespace(other.pid);
      inNetworkNamespace(namespace, () => {${loseTheWayBack('net')}});`);
    expect({ signal, stdout }).toEqual({ signal: 'SIGABRT', stdout: '' });
    expect(message).toContain('cannot return to the network namespace of the host');
  });

  it('succeeds when the copy of the mounts cannot be separated', () => {
    // The root of the process is a plain folder then, and has no propagation that could be stopped.
    const { stdout } = run(`
      const { default: koffi } = await import(${JSON.stringify(import.meta.resolve('koffi'))});
      const { mount, unmountEvery } = await import(${load('./syscalls.ts')});
      const { inPrivateMounts } = await import(${load('./private-mounts.ts')});
      const root = fs.mkdtempSync('/tmp/plain-root-');
      fs.mkdirSync(root + '/proc');
      mount({ source: 'proc', target: root + '/proc', type: 'proc', flags: 0, data: '' });
      const host = fs.openSync('/', 'r');
      const libc = koffi.load(null);
      libc.func('int chroot(const char *)')(root);
      const before = fs.readlinkSync('/proc/thread-self/ns/mnt');
      try { inPrivateMounts(() => console.log('entered'), () => {}); } catch (error) { console.log(error.code); }
      console.log(before === fs.readlinkSync('/proc/thread-self/ns/mnt'));
      libc.func('int fchdir(int)')(host);
      libc.func('int chroot(const char *)')('.');
      unmountEvery(root + '/proc');
      fs.rmSync(root, { recursive: true });
      process.exit();`);
    expect(stdout).toBe('EINVAL\ntrue\nexits\n');
  });
});
