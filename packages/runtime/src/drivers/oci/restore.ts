import { closeSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { chown, mkdir, writeFile } from 'node:fs/promises';
import { attachNetwork } from '../../network/attach.ts';
import { inNetworkNamespace, openNetworkNamespace } from '../../network/namespace.ts';
import { toBaseUid } from '../../slots.ts';
import type { Criu } from './criu.ts';
import { renameSockets } from './dump.ts';
import { type SandboxFolder, toSandboxFolder } from './folder.ts';
import type { OciHost } from './host.ts';
import { createLifeLine, type LifeLine } from './life-line.ts';
import { makeCgroup } from './make-cgroup.ts';
import { type KeptMemory, type MemoryImages, moveImages } from './memory-image.ts';
import { mountRoot } from './overlay.ts';
import type { SandboxRecord } from './record.ts';
import { mount, setHostname } from './syscalls.ts';
import { ID_COUNT, openUserNamespace } from './user-namespace.ts';

/**
 * Makes the run that the record names out of the kept memory: its processes, frozen, in new cgroups and a new network.
 * The disk is open already. What was made is still there when it rejects.
 */
export const restoreMemory = async (options: {
  host: OciHost;
  criu: Criu;
  record: SandboxRecord;
  memory: KeptMemory & { images: MemoryImages };
  agentDir: string;
  signal: AbortSignal;
}): Promise<LifeLine> => {
  const { host, criu, record, memory, agentDir, signal } = options;
  const { id, rootfs, limits, hostname, network } = record.spec;
  const folder = toSandboxFolder(host.dataDir, id);
  const baseId = toBaseUid(record.slot);
  const emptyDir = `${host.dataDir}/run/empty`;
  await Promise.all([
    ...[folder.root, folder.lower].map((path) => mkdir(path, { mode: 0o700 })),
    mkdir(emptyDir, { recursive: true, mode: 0o755 }),
  ]);
  const userNamespace = await openUserNamespace(baseId);
  try {
    mountRoot({ disk: folder.disk, rootfs, target: folder.root, lower: folder.lower, userNamespace });
  } finally {
    closeSync(userNamespace);
  }
  if (memory.bootId !== undefined) await writeFile(folder.bootId, memory.bootId, { mode: 0o644 });
  await moveImages(folder.memory, { usernsName: memory.images.usernsName, baseId });
  const cgroup = host.cgroup(id);
  const memberFiles = await makeCgroup(host.cgroups, cgroup.path, limits);
  const { line, writeFd } = createLifeLine(folder.lifeLine);
  try {
    await chown(folder.lifeLine, baseId, baseId);
    signal.throwIfAborted();
    const pid = await criu
      .restore({
        imagesDir: folder.memory,
        baseId,
        lifeLineId: memory.lifeLineId,
        memoryBytes: limits.memoryBytes,
        bootIdFile: memory.bootId === undefined ? undefined : folder.bootId,
        emptyDir,
        root: folder.root,
        guestDir: folder.guest,
        agentDir,
        pidFile: folder.pidFile,
        lifeFd: writeFd,
        memberFiles,
        shown: [folder.path, agentDir, emptyDir],
        prepareMounts: () => prepareMounts(folder),
        signal,
      })
      .finally(() => closeSync(writeFd));
    // From being stopped to being frozen, which ends for all of them at once.
    await cgroup.freeze();
    await cgroup.signal('SIGCONT');
    setHostname(pid, hostname);
    await setNetworkSettings(pid, baseId);
    await attachNetwork({
      pid,
      slot: record.slot,
      internet: network.internet,
      signal,
      stateDir: host.stateDir,
    });
    await renameSockets(folder, { from: '.new', to: '' });
    return line;
  } catch (error) {
    line.close();
    throw error;
  }
};

/**
 * CRIU writes the settings of a new namespace, which is right for root only, and it is not root but the sandbox's owner.
 * They are what they were anyway, but for the host's name; it writes into copies.
 */
const prepareMounts = (folder: SandboxFolder): void => {
  // The kernel lets a sandbox have a /proc of its own where all of one is visible.
  mount({ source: 'proc', target: folder.lower, type: 'proc', flags: 0, data: '' });
  for (const path of ['/proc/sys/kernel', '/proc/sys/fs/mqueue']) coverSettings(path);
};

const coverSettings = (path: string): void => {
  const copies = readdirSync(path)
    .filter((name) => statSync(`${path}/${name}`).isFile())
    .map((name) => ({ name, text: readIfAllowed(`${path}/${name}`) }));
  mount({ source: 'settings', target: path, type: 'tmpfs', flags: 0, data: 'mode=755,size=1m' });
  for (const { name, text } of copies) writeFileSync(`${path}/${name}`, text);
};

const readIfAllowed = (path: string): string => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    // Some can only be written, or not by us: nobody needs their value.
    return '';
  }
};

/** Those of the bundle; the host's processes count ids from their own zero. */
const setNetworkSettings = async (pid: number, baseId: number): Promise<void> => {
  await using namespace = await openNetworkNamespace(pid);
  inNetworkNamespace(namespace, () => {
    writeFileSync('/proc/sys/net/ipv4/ping_group_range', `${baseId} ${baseId + ID_COUNT - 1}`);
    writeFileSync('/proc/sys/net/ipv4/ip_unprivileged_port_start', '0');
  });
};
