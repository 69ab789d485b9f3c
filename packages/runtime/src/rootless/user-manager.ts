import { statSync } from 'node:fs';
import { join } from 'node:path';
import { runCommand } from '../kernel/run-command.ts';

/*
 * The service manager of a user (`systemd --user`). The requests here are the documented way to a delegated cgroup:
 * StartTransientUnit with `Delegate`, and AttachProcessesToUnit, of org.freedesktop.systemd1(5).
 */

/** The socket of the user's bus and its folder; undefined where there is no bus. */
export interface UserBus {
  runtimeDir: string;
  socketPath: string;
}

/** The folder of a user's sockets, also for a process without a session, as one of cron. */
export const toRuntimeDir = (uid: number): string => `/run/user/${uid}`;

/** The bus of a user, in the folder that the session names or in the usual one. */
export const findUserBus = (
  uid: number,
  runtimeDirs = [process.env.XDG_RUNTIME_DIR, toRuntimeDir(uid)],
): UserBus | undefined =>
  runtimeDirs
    .filter((dir) => dir !== undefined)
    .map((runtimeDir) => ({ runtimeDir, socketPath: join(runtimeDir, 'bus') }))
    .find(({ socketPath }) => isSocketOf(uid, socketPath));

/** After su(1) the variable may still name the folder of another user. */
const isSocketOf = (uid: number, path: string): boolean => {
  try {
    const found = statSync(path);
    return found.isSocket() && found.uid === uid;
  } catch {
    return false; // The socket does not exist, or is in a folder that is closed to this user.
  }
};

/**
 * Requests a scope that contains these processes and whose cgroup they may subdivide. Resolves when the manager has
 * accepted the job, which may not be complete yet. Rejects with `internal` when it refuses or has not answered by
 * `timeoutMs`.
 */
export async function startScope(
  bus: UserBus,
  { unit, pids, timeoutMs }: { unit: string; pids: readonly number[]; timeoutMs: number },
): Promise<void> {
  const properties = [
    ['Description', 's', 'sandboxes of skerry'],
    ['Delegate', 'b', 'true'],
    ['TasksMax', 't', String(2n ** 64n - 1n)],
    // A sandbox that reaches its memory limit must not end all others.
    ['OOMPolicy', 's', 'continue'],
    ['CollectMode', 's', 'inactive-or-failed'],
    ['PIDs', 'au', String(pids.length), ...pids.map(String)],
  ];
  const args = [unit, 'fail', String(properties.length), ...properties.flat(), '0'];
  await callManager(bus, { method: 'StartTransientUnit', signature: 'ssa(sv)a(sa(sv))', args, timeoutMs });
}

/** Resolves when the process is in the group `group` of the scope, which must exist. Rejects as `startScope`. */
export async function attachToScope(
  bus: UserBus,
  { unit, group, pid, timeoutMs }: { unit: string; group: string; pid: number; timeoutMs: number },
): Promise<void> {
  const args = [unit, `/${group}`, '1', String(pid)];
  await callManager(bus, { method: 'AttachProcessesToUnit', signature: 'ssau', args, timeoutMs });
}

const manager = ['org.freedesktop.systemd1', '/org/freedesktop/systemd1', 'org.freedesktop.systemd1.Manager'];

async function callManager(
  { runtimeDir, socketPath }: UserBus,
  call: { method: string; signature: string; args: readonly string[]; timeoutMs: number },
): Promise<void> {
  await runCommand({
    file: 'busctl',
    // The timeout of busctl would be 25 s.
    args: [
      '--user',
      `--timeout=${Math.ceil(call.timeoutMs / 1000)}`,
      'call',
      ...manager,
      call.method,
      call.signature,
      ...call.args,
    ],
    env: { XDG_RUNTIME_DIR: runtimeDir, DBUS_SESSION_BUS_ADDRESS: `unix:path=${socketPath}` },
    timeoutMs: call.timeoutMs,
  });
}
