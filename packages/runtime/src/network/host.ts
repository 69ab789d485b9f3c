import { createHash } from 'node:crypto';
import { existsSync, readFileSync, readlinkSync } from 'node:fs';
import { readFile, rename, rm, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { withFolderLock } from '../kernel/file-lock.ts';
import { hasInterface } from '../kernel/network-namespace.ts';
import { passDocker, passesDocker, removeFromDocker } from './docker-user.ts';
import { hostFilter, type PacketFilter, runRules } from './nftables.ts';
import { findOnLinkRanges } from './on-link.ts';
import { findResolvers } from './resolvers.ts';
import { hostInterface, type Surroundings, toHostRules } from './rules.ts';
import { defaultStateDir, releaseAbandonedSlots } from './slots.ts';

const forwardSwitch = '/proc/sys/net/ipv4/ip_forward';

/**
 * Makes what all sandboxes of this host share, if it does not exist: the table of rules, rules in the firewall of
 * Docker, and IPv4 forwarding. Call it with a slot reserved: `removeHostNetwork` of another server then changes
 * nothing. Costs two small reads when nothing is to be done. With `verify` it asks the kernel instead of its own
 * record: a reload of the host's firewall flushes the table too.
 */
export async function ensureHostNetwork(
  options: { stateDir?: string | undefined; verify?: boolean } & Partial<Surroundings> = {},
): Promise<void> {
  const { stateDir = defaultStateDir, verify = false } = options;
  const rules = toHostRules({
    resolvers: options.resolvers ?? findResolvers(),
    closedAddresses: options.closedAddresses ?? findOnLinkRanges(),
  });
  const wanted = toMark(rules);
  const isMade = async (): Promise<boolean> =>
    (await readIfThere(markPath(stateDir))) === wanted &&
    readFileSync(forwardSwitch, 'utf8').trim() === '1' &&
    (!verify || ((await hasTable()) && (await passesDocker())));
  if (await isMade()) return;
  await withFolderLock(stateDir, async () => {
    if (await isMade()) return;
    await turnForwardingOn(stateDir);
    await runRules(rules);
    await passDocker();
    await replaceFile(markPath(stateDir), wanted);
  });
}

/**
 * Removes what `ensureHostNetwork` made and leaves the host as it was before the first sandbox. Does nothing while any
 * sandbox of any server on this host has a slot. Idempotent; call it again when it rejected or was cut off.
 */
export async function removeHostNetwork(
  options: {
    stateDir?: string | undefined;
    /** Changes the tables. Default: libnftables. */
    filter?: PacketFilter;
  } = {},
): Promise<void> {
  const { stateDir = defaultStateDir, filter = hostFilter } = options;
  await withFolderLock(stateDir, async () => {
    const hadMark = existsSync(markPath(stateDir));
    await releaseAbandonedSlots({ stateDir, isInUse: (slot) => hasInterface(hostInterface(slot)) });
    // The mark is removed first: a server that reserves a slot from here on does not find it, waits for this lock and
    // makes everything anew.
    if (hadMark) await rename(markPath(stateDir), leavingPath(stateDir));
    if (!(await removeIfEmpty(join(stateDir, 'slots')))) {
      if (hadMark) await rename(leavingPath(stateDir), markPath(stateDir));
      return;
    }
    if (existsSync(leavingPath(stateDir))) {
      await filter.run('table inet skerry\ndelete table inet skerry\n');
      await removeFromDocker(filter);
      await rm(leavingPath(stateDir));
    }
    await putForwardingBack(stateDir);
    await removeIfEmpty(stateDir);
  });
}

const hasTable = (): Promise<boolean> =>
  runRules('list chain inet skerry postrouting').then(
    () => true,
    () => false,
  );

const markPath = (stateDir: string): string => join(stateDir, 'network');
/** The mark of a table that is being deleted. It stays when that fails, so that the next call tries again. */
const leavingPath = (stateDir: string): string => join(stateDir, 'network-leaving');
const forwardRecordPath = (stateDir: string): string => join(stateDir, 'ip-forward');

/**
 * Records which rules are in force, in which network namespace and since which boot; the kernel discards them with
 * either.
 */
function toMark(rules: string): string {
  const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8');
  const namespace = readlinkSync('/proc/self/ns/net');
  return `${boot.trim()} ${namespace} ${createHash('sha256').update(rules).digest('hex')}\n`;
}

async function turnForwardingOn(stateDir: string): Promise<void> {
  const before = (await readFile(forwardSwitch, 'utf8')).trim();
  if (before === '1') return;
  await replaceFile(forwardRecordPath(stateDir), before);
  await writeFile(forwardSwitch, '1');
}

async function putForwardingBack(stateDir: string): Promise<void> {
  const before = await readIfThere(forwardRecordPath(stateDir));
  if (before === undefined) return;
  await writeFile(forwardSwitch, before);
  await rm(forwardRecordPath(stateDir), { force: true });
}

async function replaceFile(path: string, text: string): Promise<void> {
  const temporary = `${path}.new`;
  await writeFile(temporary, text);
  await rename(temporary, path);
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Returns whether the folder was removed. */
async function removeIfEmpty(path: string): Promise<boolean> {
  try {
    await rmdir(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOTEMPTY') return false;
    if (code !== 'ENOENT') throw error;
  }
  return true;
}
