import { closeSync, mkdirSync, writeFileSync } from 'node:fs';
import { settleAll } from '../../concurrency/settle-all.ts';
import { RuntimeError } from '../../error.ts';
import { attachNetwork } from '../../network/attach.ts';
import { findResolvers, toResolvConf } from '../../network/resolvers.ts';
import { limitSockets } from './cgroup/socket-memory.ts';
import { toBundleConfig } from './container/bundle.ts';
import { createLivenessPipe, type LivenessPipe } from './container/liveness-pipe.ts';
import { mountRoot, prepareUpper } from './container/overlay.ts';
import { waitForEntry } from './container/ready.ts';
import { writeBootId } from './container/write-boot-id.ts';
import { type SandboxFolder, toSandboxFolder } from './folder.ts';
import type { OciHost } from './host.ts';
import { levelOf } from './levels.ts';
import { openedLevel } from './opened-levels.ts';
import type { SandboxRecord } from './record.ts';

export interface StartOptions {
  host: OciHost;
  record: SandboxRecord;
  agentDir: string;
  command: readonly string[];
  signal: AbortSignal;
  /** Mounts the disk with its folders at the folder's `disk`. */
  prepareDisk: () => Promise<void>;
  /** The folder of a sentry's checkpoint, which is restored instead of starting the command. */
  imagesDir?: string;
}

/**
 * Makes everything that the record names and resolves when the agent inside is ready, or, with `imagesDir`, when
 * everything inside exists and is stopped. When it rejects, what was made still exists; the caller removes it.
 */
export const startSandbox = async (options: StartOptions): Promise<LivenessPipe> => {
  const { host, record } = options;
  const folder = toSandboxFolder(host.dataDir, record.spec.id);
  host.expectJoin();
  // Held open until the container is in it and keeps it.
  const namespace = host.openUserNamespace(record);
  try {
    // No work may be in progress when this fails: the caller then removes the rootless namespace.
    const [userNamespace, rootfs] = await settleAll([
      namespace,
      host.roots.open(record.spec.rootfs, record.spec.id),
      options.prepareDisk(),
      // While the kernel mounts the disk, which takes longer.
      namespace.then((fd) => writeBundle(options, folder, fd)),
    ]);
    const { disk, root: target, lower } = folder;
    const shift = host.shiftsImages ? userNamespace : undefined;
    mountRoot({ disk, rootfs, target, lower, userNamespace: shift });
    options.signal.throwIfAborted();
    return await startAgent(options, folder);
  } finally {
    await namespace.then(closeSync, () => undefined);
  }
};

/** Makes the disk of a new sandbox. */
export const makeDisk = async (host: OciHost, record: SandboxRecord): Promise<void> => {
  const { spec, slot } = record;
  const folder = toSandboxFolder(host.dataDir, spec.id);
  await host.disks.make(folder.image, spec.limits.diskBytes);
  await host.disks.open({ image: folder.image, target: folder.disk });
  prepareUpper(
    { disk: folder.disk, baseId: host.toBaseId(slot) },
    {
      hostname: `${spec.hostname}\n`,
      hosts: `127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n127.0.1.1 ${spec.hostname}\n`,
      // Write the file also without a network, which the sandbox may get later.
      'resolv.conf': toResolvConf(host.surroundings.resolvers ?? findResolvers()),
    },
  );
};

/** Writes what the OCI runtime reads, and makes the folders that it mounts and keeps its state in. */
const writeBundle = (
  { host, record, agentDir, command }: StartOptions,
  folder: SandboxFolder,
  userNamespace: number,
): void => {
  const { spec } = record;
  const { runtime, seccomp } = openedLevel(host, record);
  const config = toBundleConfig({
    hostname: spec.hostname,
    limits: spec.limits,
    root: folder.root,
    agentDir,
    guestDir: folder.guest,
    bootIdFile: runtime.mountsBelowProc ? folder.bootId : undefined,
    command,
    baseId: host.toBaseId(record.slot),
    userNamespace: runtime.joinsUserNamespace ? `/proc/${process.pid}/fd/${userNamespace}` : undefined,
    processLimit: runtime.toProcessLimit(spec.limits.processCount),
    keepsTmp: runtime.takesTmp,
    cgroupPath: host.cgroup(spec.id).path,
    limitsSwap: host.cgroups.limitsSwap,
    seccomp,
    // runc would need CAP_SYS_RESOURCE to set limits. With runc the sandbox inherits the limits of this process, which are equal.
    setsLimits: runtime.name !== 'runc',
    host: host.allowance,
  });
  writeFileSync(folder.config, JSON.stringify(config), { mode: 0o600 });
  writeBootId(folder.bootId, `${record.runId}\n`);
  for (const path of [folder.ociState, folder.root, folder.lower]) mkdirSync(path, { mode: 0o700 });
};

const startAgent = async (options: StartOptions, folder: SandboxFolder): Promise<LivenessPipe> => {
  const { host, record, agentDir, imagesDir } = options;
  const { line, writeFd } = createLivenessPipe(folder.livenessPipe);
  // Aborts all other waits when one part fails.
  const failed = new AbortController();
  const signal = AbortSignal.any([options.signal, failed.signal]);
  try {
    const ready = imagesDir === undefined ? waitForEntry(folder.guest, 'control.sock', signal) : undefined;
    const running = runContainer({ host, record, folder, agentDir, imagesDir, writeFd, signal });
    // The kernel may forget the first announcement until the runtime joins.
    host.expectJoin();
    const ended = line.ended.then(async () => {
      // A failure of the OCI runtime is the better reason.
      await running;
      throw new RuntimeError('unavailable', 'the sandbox ended before its agent was ready');
    });
    await Promise.race([Promise.all([ready, running]), ended]);
    return line;
  } catch (error) {
    failed.abort();
    line.close();
    throw error;
  }
};

const runContainer = async (options: {
  host: OciHost;
  record: SandboxRecord;
  folder: SandboxFolder;
  agentDir: string;
  imagesDir: string | undefined;
  writeFd: number;
  signal: AbortSignal;
}): Promise<void> => {
  const { host, record, folder, agentDir, imagesDir, writeFd, signal } = options;
  const { id, network, limits } = record.spec;
  try {
    const memberFiles = await host.prepareCgroup(id, limits);
    await openedLevel(host, record).runtime.start({
      id,
      folder,
      agentDir,
      livenessFd: writeFd,
      memberFiles,
      attach: (pid) =>
        attachNetwork({
          pid,
          slot: record.slot,
          policy: network,
          hasOwnStack: levelOf(record).hasOwnStack,
          gateway: host.gateway,
          signal,
          stateDir: host.stateDir,
          ...host.surroundings,
        }),
      imagesDir,
      signal,
    });
    limitSockets(host.cgroups, host.cgroup(id).path, limits);
  } finally {
    // From here on only the sandbox's own processes have this end open.
    closeSync(writeFd);
  }
};
