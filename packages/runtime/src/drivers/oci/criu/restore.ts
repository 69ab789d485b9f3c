import { closeSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { settleAll } from '../../../concurrency/settle-all.ts';
import { inNetworkNamespace, openNetworkNamespace } from '../../../kernel/network-namespace.ts';
import { MountFlag, mount, setHostname } from '../../../kernel/syscalls.ts';
import { ID_COUNT, openImageShift } from '../../../kernel/user-namespace.ts';
import { attachNetwork } from '../../../network/attach.ts';
import { type PacketStop, prepareLoopback } from '../../../network/packet-stop.ts';
import { toBaseUid } from '../../../network/slots.ts';
import { multipathSetting } from '../cgroup/host-allowance.ts';
import { makeCgroup } from '../cgroup/make-cgroup.ts';
import { createLivenessPipe, type LivenessPipe } from '../container/liveness-pipe.ts';
import { mountRoot } from '../container/overlay.ts';
import { protectNullDevice, restrictSource } from '../container/restrict-sources.ts';
import { writeBootId } from '../container/write-boot-id.ts';
import { type SandboxFolder, toSandboxFolder } from '../folder.ts';
import type { OciHost } from '../host.ts';
import type { SandboxRecord } from '../record.ts';
import { type CriuMemory, countProcesses, moveImages } from './checkpoint.ts';
import type { Criu } from './criu.ts';
import { renameSockets } from './dump.ts';
import { restoreThreadSettings } from './processes/thread-settings.ts';
import {
  addRestoreOverhead,
  hasOomKill,
  removeRestoreOverhead,
  toMemoryLimitError,
} from './restore-overhead.ts';
import { probeWindows } from './sockets/probe-windows.ts';

/**
 * Makes the run that the record names from the checkpoint: its processes, frozen, in new cgroups and a new network.
 * When it rejects, what was made still exists, and no work is in progress.
 */
export const restoreMemory = async (options: {
  host: OciHost;
  criu: Criu;
  record: SandboxRecord;
  memory: CriuMemory;
  agentDir: string;
  signal: AbortSignal;
  /** Mounts the disk at the folder's `disk`. */
  prepareDisk: () => Promise<void>;
  /** Called when everything is prepared, and CRIU begins to read the images. */
  meanwhile: () => void;
}): Promise<LivenessPipe> => {
  const { host, criu, record, memory, agentDir, signal } = options;
  const { id, limits, hostname, network } = record.spec;
  const folder = toSandboxFolder(host.dataDir, id);
  const baseId = toBaseUid(record.slot);
  const emptyDir = `${host.dataDir}/run/empty`;
  const cgroup = host.cgroup(id);
  const prepare = async (): Promise<{ line: LivenessPipe; writeFd: number }> => {
    if (memory.bootId !== undefined) writeBootId(folder.bootId, memory.bootId);
    await settleAll([
      prepareRoot(host, record, options.prepareDisk),
      moveImages(folder.memory, { usernsName: memory.images.usernsName, baseId }),
      mkdir(emptyDir, { recursive: true, mode: 0o755 }),
    ]);
    signal.throwIfAborted();
    return createLivenessPipe(folder.livenessPipe, { owner: baseId });
  };
  const settings = { baseId, hasMultipath: host.allowance.hasMultipath };
  let packets: PacketStop | undefined;
  const prepareNetwork = async (first: number): Promise<void> => {
    await setNetworkSettings(first, settings);
    packets = await prepareLoopback(first);
  };
  const prepared = prepare();
  const livenessFd = prepared.then(({ writeFd }) => {
    options.meanwhile();
    return writeFd;
  });
  // The rejection is thrown below, where it is awaited: until then this marks it as handled.
  livenessFd.catch(() => undefined);
  const restore = async (): Promise<number> => {
    const raised = addRestoreOverhead(limits, { processCount: countProcesses(memory.images) });
    try {
      return await criu.restore({
        imagesDir: folder.memory,
        baseId,
        livenessPipeId: memory.livenessPipeId,
        memoryBytes: limits.memoryBytes,
        bootIdFile: memory.bootId === undefined ? undefined : folder.bootId,
        emptyDir,
        root: folder.root,
        guestDir: folder.guest,
        agentDir,
        pidFile: folder.pidFile,
        memberFiles: await makeCgroup(host.cgroups, cgroup.path, raised),
        livenessFd,
        shown: [folder.path, agentDir, emptyDir],
        prepareMounts: () => {
          prepareMounts(host, { folder, emptyDir });
          // CRIU gives the flags of equal mounts of one file to the first mount alone.
          protectNullDevice();
          if (memory.bootId !== undefined) restrictSource(folder.bootId, { readOnly: true });
        },
        prepareNetwork: memory.needsNetwork ? prepareNetwork : undefined,
        signal,
      });
    } finally {
      // A descriptor that was never opened need not be closed.
      await livenessFd.then(closeSync, () => undefined);
    }
  };
  try {
    const pid = await restore();
    // Freeze the stopped processes; the thaw then continues all of them at once.
    await cgroup.freeze();
    await cgroup.signal('SIGCONT');
    await restoreThreadSettings(folder.memory, await cgroup.members());
    setHostname(pid, hostname);
    await setNetworkSettings(pid, settings);
    await packets?.end();
    if (packets) await probeWindows(cgroup);
    await attachNetwork({
      pid,
      slot: record.slot,
      policy: network,
      gateway: host.gateway,
      signal,
      stateDir: host.stateDir,
    });
    await renameSockets(folder, { from: '.new', to: '' });
    await removeRestoreOverhead(host.cgroups, cgroup.path, limits);
    return (await prepared).line;
  } catch (error) {
    // A failed preparation is the error that is thrown, and there is no pipe.
    (await prepared.catch(() => undefined))?.line.close();
    // The first process may have ended, and its network with it: then no packets have to be let through.
    await packets?.end().catch(() => undefined);
    throw (await hasOomKill(host.cgroups, cgroup.path)) ? toMemoryLimitError(error) : error;
  }
};

const prepareRoot = async (
  host: OciHost,
  { spec, slot }: SandboxRecord,
  prepareDisk: () => Promise<void>,
): Promise<void> => {
  const { disk, root, lower } = toSandboxFolder(host.dataDir, spec.id);
  const opened = openImageShift(toBaseUid(slot));
  try {
    const [userNamespace, rootfs] = await settleAll([
      opened,
      host.roots.open(spec.rootfs, spec.id),
      prepareDisk(),
      ...[root, lower].map((path) => mkdir(path, { mode: 0o700 })),
    ]);
    mountRoot({ disk, rootfs, target: root, lower, userNamespace });
  } finally {
    await opened.then(closeSync, () => undefined);
  }
};

const prepareMounts = (
  host: OciHost,
  { folder, emptyDir }: { folder: SandboxFolder; emptyDir: string },
): void => {
  // Use the flags of an OCI runtime: CRIU opens a folder again only with the very mode that it had.
  const hidden = { type: 'tmpfs', flags: MountFlag.readOnly, data: 'mode=1777,size=4k' };
  mount({ source: 'none', target: emptyDir, ...hidden });
  // The kernel allows a sandbox its own /proc where a complete one is visible.
  mount({ source: 'proc', target: folder.lower, type: 'proc', flags: 0, data: '' });
  host.coverSettings();
};

/** The settings of the bundle; processes of the host count ids from their own zero. */
const setNetworkSettings = async (
  pid: number,
  { baseId, hasMultipath }: { baseId: number; hasMultipath: boolean },
): Promise<void> => {
  await using namespace = await openNetworkNamespace(pid);
  inNetworkNamespace(namespace, () => {
    writeFileSync('/proc/sys/net/ipv4/ping_group_range', `${baseId} ${baseId + ID_COUNT - 1}`);
    writeFileSync('/proc/sys/net/ipv4/ip_unprivileged_port_start', '0');
    if (hasMultipath) writeFileSync(multipathSetting, '0');
  });
};
