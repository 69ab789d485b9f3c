import { closeSync, fstatSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { agentMountPoint } from '../agent-folder/agent-folder.ts';
import { RuntimeError } from '../error.ts';
import { identifyProcess, isAlive, type ProcessIdentity } from '../kernel/process-identity.ts';
import { signalProcess } from '../kernel/signal-process.ts';
import { ioctl } from '../kernel/syscalls.ts';
import { listSlots } from '../network/slots.ts';

// linux/nsfs.h
const NS_GET_PARENT = 0xb702;

// proc(5), /proc/pid/mountinfo: which folder of its file system is mounted, counted from 0.
const MOUNT_ROOT = 3;

const END_MS = 10_000;

/**
 * Ends the sandboxes of a rootless namespace whose holder has ended, which still have their slots in `stateDir`: with the
 * holder ended the mounts by which they could be found, and their network. Spares those of another rootless namespace, also
 * when that has the same number meanwhile. Call it outside of a rootless namespace, where the user may signal processes in
 * every user namespace of their own. Rejects with `internal` when a process does not end.
 */
export async function endOrphans(options: { userNamespace: number; stateDir: string }): Promise<void> {
  const { userNamespace, stateDir } = options;
  const ids = new Set((await listSlots({ stateDir })).map(({ id }) => id));
  const deadline = Date.now() + END_MS;
  const killed = new Map<number, ProcessIdentity>();
  for (;;) {
    const orphans = findInits(userNamespace)
      .filter((pid) => !killed.has(pid) && isSandbox(pid, ids))
      .flatMap((pid) => identifyProcess(pid) ?? []);
    // The first process of a sandbox ends the others. While it waits for them its command line cannot be read any more.
    if (orphans.length === 0 && ![...killed.values()].some(isAlive)) return;
    if (Date.now() > deadline)
      throw new RuntimeError('internal', 'sandboxes of an earlier rootless namespace do not end');
    for (const orphan of orphans) {
      signalProcess(orphan.pid, 'SIGKILL');
      killed.set(orphan.pid, orphan);
    }
    await sleep(10);
  }
}

const findInits = (userNamespace: number): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => isAgentInit(pid) && toParentNamespace(pid) === userNamespace);

/** Whether its command line is that of the first process of a sandbox: the pid alone may have been reused. */
const isAgentInit = (pid: number): boolean => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith(`${agentMountPoint}/tini\0`);
  } catch {
    return false; // The process has ended.
  }
};

/**
 * Whether it is the first process of one of these sandboxes: the kernel reuses the number of a namespace as soon as nothing
 * is in it any more. Code inside cannot change the mounts of a sandbox, which are from a folder that is named by its id.
 */
const isSandbox = (pid: number, ids: ReadonlySet<string>): boolean => {
  try {
    const mounts = readFileSync(`/proc/${pid}/mountinfo`, 'utf8').split('\n');
    return mounts.some((line) =>
      line
        .split(' ')
        [MOUNT_ROOT]?.split('/')
        .some((name) => ids.has(name)),
    );
  } catch {
    return false; // The process has ended.
  }
};

/** The parent of the user namespace of a process; undefined for a process that has ended. */
const toParentNamespace = (pid: number): number | undefined => {
  try {
    return withDescriptor(openSync(`/proc/${pid}/ns/user`, 'r'), (own) =>
      withDescriptor(ioctl(own, NS_GET_PARENT, 0), (parent) => fstatSync(parent).ino),
    );
  } catch {
    return undefined; // See above; or its namespace is the host's, which has no parent.
  }
};

const withDescriptor = <T>(descriptor: number, use: (descriptor: number) => T): T => {
  try {
    return use(descriptor);
  } finally {
    closeSync(descriptor);
  }
};
