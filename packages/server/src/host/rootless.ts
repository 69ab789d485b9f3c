import { homedir } from 'node:os';
import { join } from 'node:path';
import { rootlessStateVariable } from '@skerry/contract/rootless-state-variable';
import {
  describeRootlessLimits,
  endRootlessNamespace,
  ensureRootlessNamespace,
  type HelperOptions,
  readNamespaceMend,
  rootlessBaseId,
  toEnterCommand,
  toHelperRootlessOptions,
} from '@skerry/runtime';
import { UserError } from '../user-error.ts';
import { currentRootlessState } from './current-rootless-state.ts';

/** The folder through which an ordinary user's servers coordinate what they share. */
const toStateDir = (): string =>
  join(process.env.XDG_STATE_HOME || join(homedir(), '.local/state'), 'skerry');

/**
 * Does nothing for root, and in the rootless namespace. For an ordinary user it re-executes this command, in this same
 * process, in the user's rootless namespace, which it creates if needed: so it never returns. With `network` it also
 * joins the network namespace; `startsNone` means that the command only ends sandboxes, which needs neither an uplink
 * nor the user's service manager. Rejects with the remedy where the host does not allow that.
 */
export async function enterRootlessNamespace({ network = false, startsNone = false } = {}): Promise<void> {
  if (process.getuid?.() === 0) return;
  const stateDir = toStateDir();
  const record = await ensureRootlessNamespace({ stateDir, startsNone }).catch((error: Error) => {
    const mend = readNamespaceMend();
    const how = mend === undefined ? '"skerry doctor" reports what is missing' : `fix, as root: ${mend}`;
    throw new UserError(`this host cannot run sandboxes without root yet: ${error.message} (${how})`);
  });
  const argv = [process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  const command = toEnterCommand(record, { argv, cwd: process.cwd(), network });
  // The declarations have it as optional: Windows lacks it.
  process.execve?.('/usr/bin/env', ['env', ...command], {
    ...process.env,
    [rootlessStateVariable]: stateDir,
  });
}

/** The helper's options in a rootless namespace; empty for root of the host. */
export function toRootlessOptions(): Pick<HelperOptions, 'rootless' | 'stateDir'> {
  const stateDir = currentRootlessState();
  return stateDir === undefined ? {} : { stateDir, rootless: toHelperRootlessOptions(stateDir) };
}

/** Describes the limits of sandboxes in the rootless namespace of this process; undefined for root of the host. */
export function describeLimits(): string | undefined {
  const stateDir = currentRootlessState();
  const limits = stateDir === undefined ? undefined : describeRootlessLimits(stateDir);
  if (!limits) return undefined;
  if ('reason' in limits) return `limits do not hold: ${limits.reason}; fix: ${limits.mend}`;
  const { unit, user, lingers, limited, cpuRefusal } = limits;
  const cpu = cpuRefusal ? `; ${cpuRefusal.reason}; fix: ${cpuRefusal.mend}` : '';
  const end = `they end with the last session of ${user}, unless you run: loginctl enable-linger ${user}`;
  return `limits of ${limited} hold by cgroups of ${unit}${lingers ? '' : `; ${end}`}${cpu}`;
}

/**
 * The form of images. In a rootless namespace they are folders, since nothing can be mounted there, and their files have
 * the owners of a sandbox, since nothing maps them.
 */
export const toImageOptions = (): { asFile: boolean; ownerOffset?: number } =>
  currentRootlessState() === undefined ? { asFile: true } : { asFile: false, ownerOffset: rootlessBaseId };

/** Ends the rootless namespace of this process, unless sandboxes or other servers of the user are in it. */
export async function leaveRootlessNamespace(): Promise<void> {
  const stateDir = currentRootlessState();
  if (stateDir !== undefined) await endRootlessNamespace({ stateDir });
}
