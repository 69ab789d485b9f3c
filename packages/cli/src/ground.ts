import { homedir } from 'node:os';
import { join } from 'node:path';
import {
  describeGroundLimits,
  endGround,
  ensureGround,
  groundBaseId,
  type HelperOptions,
  readNamespaceMend,
  toEnterCommand,
  toHelperGround,
} from '@skerry/runtime';
import { groundVariable } from '@skerry/runtime/ground-variable';
import { CliError } from './cli-error.ts';
import { currentGround } from './current-ground.ts';

/** Where an ordinary user's servers agree on what they share. */
const toStateDir = (): string =>
  join(process.env.XDG_STATE_HOME || join(homedir(), '.local/state'), 'skerry');

/**
 * Does nothing for root, and in the ground. For an ordinary user it runs this command anew, in this same process, in his
 * ground, which is made when there is none: so it never returns. With `network` it is in the ground's network as well;
 * `startsNone` says that it ends sandboxes alone, which takes neither an uplink nor an answer of the user's service manager.
 * Throws what to do where the host does not allow that.
 */
export async function enterGround({ network = false, startsNone = false } = {}): Promise<void> {
  if (process.getuid?.() === 0) return;
  const stateDir = toStateDir();
  const ground = await ensureGround({ stateDir, startsNone }).catch((error: Error) => {
    const mend = readNamespaceMend();
    const how = mend === undefined ? '"skerry doctor" reports what' : `mend, as root: ${mend}`;
    throw new CliError(`sandboxes without root need more of this host: ${error.message} (${how})`);
  });
  const argv = [process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  const command = toEnterCommand(ground, { argv, cwd: process.cwd(), network });
  if (!process.execve) throw new CliError('without root skerry needs Node 22.15, 24 or later');
  process.execve('/usr/bin/env', ['env', ...command], { ...process.env, [groundVariable]: stateDir });
}

/** What the helper is told in a ground; nothing for root of the host. */
export function toGroundOptions(): Pick<HelperOptions, 'ground' | 'stateDir'> {
  const stateDir = currentGround();
  return stateDir === undefined ? {} : { stateDir, ground: toHelperGround(stateDir) };
}

/** What to tell of the limits of sandboxes in the ground that this process is in; nothing for root of the host. */
export function describeLimits(): string | undefined {
  const stateDir = currentGround();
  const limits = stateDir === undefined ? undefined : describeGroundLimits(stateDir);
  if (!limits) return undefined;
  if ('reason' in limits) return `limits do not hold: ${limits.reason}; mend: ${limits.mend}`;
  const { unit, user, lingers, limited, cpuRefusal } = limits;
  const cpu = cpuRefusal ? `; ${cpuRefusal.reason}; mend: ${cpuRefusal.mend}` : '';
  const end = `they end with the last session of ${user}, unless you run: loginctl enable-linger ${user}`;
  return `limits of ${limited} hold by cgroups of ${unit}${lingers ? '' : `; ${end}`}${cpu}`;
}

/** Whose the files of images are in a ground: nothing shows them there as anybody else's. */
export const toImageOptions = (): { ownerOffset?: number } =>
  currentGround() === undefined ? {} : { ownerOffset: groundBaseId };

/** Ends the ground that this process is in, unless sandboxes or others of the user's servers are in it. */
export async function leaveGround(): Promise<void> {
  const stateDir = currentGround();
  if (stateDir !== undefined) await endGround({ stateDir });
}
