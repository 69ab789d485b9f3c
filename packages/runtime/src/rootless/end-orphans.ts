import { closeSync, fstatSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { agentMountPoint } from '../drivers/agent-folder.ts';
import { RuntimeError } from '../error.ts';
import { identifyProcess, isAlive, type ProcessIdentity } from '../kernel/process-identity.ts';
import { signalProcess } from '../kernel/signal-process.ts';
import { ioctl } from '../kernel/syscalls.ts';

// linux/nsfs.h
const NS_GET_PARENT = 0xb702;

const END_MS = 10_000;

/**
 * Ends the sandboxes of a ground whose holder is gone: with it went the mounts by which they could be found, and the way to
 * the network. To be called outside of a ground, where the user may do that to every namespace that he owns. Rejects with
 * `internal` when something resists.
 */
export async function endOrphans({ userNamespace }: { userNamespace: number }): Promise<void> {
  const deadline = Date.now() + END_MS;
  const killed = new Map<number, ProcessIdentity>();
  for (;;) {
    const orphans = findInits(userNamespace)
      .filter((pid) => !killed.has(pid))
      .flatMap((pid) => identifyProcess(pid) ?? []);
    // The first process of a sandbox takes the others with it. It no longer says what it was while it waits for them to be gone.
    if (orphans.length === 0 && ![...killed.values()].some(isAlive)) return;
    if (Date.now() > deadline)
      throw new RuntimeError('internal', 'sandboxes of an earlier ground do not end');
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

/** Whether it calls itself the first process of a sandbox: the number alone may have become somebody else's by now. */
const isAgentInit = (pid: number): boolean => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith(`${agentMountPoint}/tini\0`);
  } catch {
    return false; // It is gone.
  }
};

/** Of the user namespace that a process is in; undefined for a process that is gone. */
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
