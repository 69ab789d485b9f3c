import { randomUUID } from 'node:crypto';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { aptInstall, asRoot } from '../probe.ts';
import {
  ensureGroup,
  hasUnifiedGroups,
  mayMove,
  moveToGroup,
  readControllers,
  readUnifiedGroup,
  unifiedRoot,
} from './unified-groups.ts';
import { attachToScope, findUserBus, startScope, toRuntimeDir, type UserBus } from './user-manager.ts';

/** The cgroup that the user's service manager has delegated for sandboxes. It ends with the last process in it. */
export interface DelegatedGroup {
  unit: string;
  /** The path below the root of the version 2 tree. */
  path: string;
  /** The name of the user. */
  user: string;
  /** What the group can limit. */
  controllers: string[];
}

/** Why sandboxes have no limits of cpu, memory and processes by cgroups, and how to solve that. */
export interface LimitsRefusal {
  reason: string;
  mend: string;
}

/** A busy manager, as during the boot of the host, must not cost the limits of everything that starts then. */
const WAIT_MS = 30_000;
/** The required controllers. The other limits are enforced without the cpu controller, too. */
const neededControllers = ['memory', 'pids'];
/** The groups below the delegated one, beside those of data folders. */
const [holderGroup, serverGroup] = ['holder', 'servers'];

/** Whether a request for a delegated group can succeed. */
export const hasUserManager = (): boolean => hasUnifiedGroups() && findUserBus(userInfo().uid) !== undefined;

/**
 * Resolves with a new cgroup of the user's own, which contains the process; with the reason where the host does not
 * grant one within 30 s. Never rejects.
 */
export async function delegateGroup(options: {
  holderPid: number;
  timeoutMs?: number;
}): Promise<DelegatedGroup | LimitsRefusal> {
  const { holderPid, timeoutMs = WAIT_MS } = options;
  const { username: user, uid } = userInfo();
  if (!hasUnifiedGroups()) return { reason: 'this host has cgroups of version 1', mend: asRoot };
  const bus = findUserBus(uid);
  if (!bus) {
    const reason = `no service manager of ${user} can be asked: there is no socket ${toRuntimeDir(uid)}/bus`;
    return { reason, mend: `${aptInstall('dbus-user-session')}; loginctl enable-linger ${user}` };
  }
  const deadline = Date.now() + timeoutMs;
  const unit = `skerry-${randomUUID().slice(0, 8)}.scope`;
  try {
    await startScope(bus, { unit, pids: [holderPid], timeoutMs });
    const path = await untilInside(holderPid, unit, deadline);
    if (path === undefined) return toSlow(timeoutMs);
    const folder = join(unifiedRoot, path);
    moveToGroup(ensureGroup(folder, holderGroup), holderPid);
    const controllers = readControllers(folder);
    const missing = neededControllers.filter((name) => !controllers.includes(name));
    return missing.length === 0 ? { unit, path, user, controllers } : toUndelegated(user, missing);
  } catch (error) {
    return Date.now() < deadline ? toRefusal(error) : toSlow(timeoutMs);
  }
}

/** The job is complete when the process is in its group. */
async function untilInside(pid: number, unit: string, deadline: number): Promise<string | undefined> {
  for (;;) {
    const path = readUnifiedGroup(pid);
    if (path?.endsWith(`/${unit}`)) return path;
    if (Date.now() > deadline) return undefined;
    await sleep(20);
  }
}

/**
 * Moves this process to a group from which it may move others into the delegated group; does nothing where it may
 * already, as in a service of the user. Resolves with the reason when that fails, otherwise with nothing. Never
 * rejects.
 */
export async function joinDelegated(
  { unit, path }: DelegatedGroup,
  { timeoutMs = WAIT_MS }: { timeoutMs?: number } = {},
): Promise<LimitsRefusal | undefined> {
  const deadline = Date.now() + timeoutMs;
  try {
    const folder = ensureGroup(join(unifiedRoot, path), serverGroup);
    if (mayMove({ from: readUnifiedGroup(process.pid) ?? '/', to: `${path}/${serverGroup}` }))
      return undefined;
    const bus: UserBus | undefined = findUserBus(userInfo().uid);
    if (!bus) throw new Error(`there is no bus of the user's service manager any more, which made ${folder}`);
    await attachToScope(bus, { unit, group: serverGroup, pid: process.pid, timeoutMs });
    const isInside = await untilInside(process.pid, `${unit}/${serverGroup}`, deadline);
    return isInside ? undefined : toSlow(timeoutMs);
  } catch (error) {
    return Date.now() < deadline ? toRefusal(error) : toSlow(timeoutMs);
  }
}

const toSlow = (timeoutMs: number): LimitsRefusal => ({
  reason: `the user's service manager (systemd --user) granted no cgroup within ${timeoutMs / 1000} s`,
  mend: 'run "skerry up" again when no sandbox runs',
});

const toRefusal = (error: unknown): LimitsRefusal => ({
  reason: `the user's service manager (systemd --user) granted no cgroup: ${(error as Error).message}`,
  mend: 'log in anew, or look into: journalctl --user; then run "skerry up" again when no sandbox runs',
});

/** Controllers are not delegated to the user, and how to change that. */
export const toUndelegated = (user: string, missing: readonly string[]): LimitsRefusal => ({
  reason: `the cgroups of ${user} have no controllers for ${missing.join(', ')}`,
  mend: `mkdir -p /etc/systemd/system/user@.service.d && printf '[Service]\\nDelegate=cpu memory pids\\n' > /etc/systemd/system/user@.service.d/delegate.conf && systemctl daemon-reload; then log in anew`,
});

/** Whether the user's manager runs without a session of the user: loginctl(1). */
export const toLingerPath = ({ user }: DelegatedGroup): string => `/var/lib/systemd/linger/${user}`;
