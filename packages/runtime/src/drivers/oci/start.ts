import { closeSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { RuntimeError } from '../../error.ts';
import { attachNetwork } from '../../network/attach.ts';
import { resolvConf } from '../../network/resolvers.ts';
import { toBaseUid } from '../../slots.ts';
import { toBundleConfig } from './bundle.ts';
import { mountDisk } from './disk.ts';
import { type SandboxFolder, toSandboxFolder } from './folder.ts';
import type { OciHost } from './host.ts';
import { openIdMap } from './id-map.ts';
import { createLifeLine, type LifeLine } from './life-line.ts';
import { mountRoot, prepareUpper } from './overlay.ts';
import { waitForEntry } from './ready.ts';
import type { SandboxRecord } from './record.ts';

export interface StartOptions {
  host: OciHost;
  record: SandboxRecord;
  agentDir: string;
  command: readonly string[];
  signal: AbortSignal;
}

/**
 * Makes everything that the record names and resolves when the agent inside is ready. What was made is still there
 * when it rejects; the caller removes it.
 */
export const startSandbox = async (options: StartOptions): Promise<LifeLine> => {
  const { host, record, signal } = options;
  const folder = toSandboxFolder(host.dataDir, record.spec.id);
  await prepareRoot(options, folder);
  signal.throwIfAborted();
  const { line, writeFd } = createLifeLine(folder.lifeLine);
  // One reason to stop waiting for whatever of the rest is still under way.
  const failed = new AbortController();
  const anySignal = AbortSignal.any([signal, failed.signal]);
  try {
    const ready = waitForEntry(folder.guest, 'control.sock', anySignal);
    const running = runContainer({
      host,
      record,
      folder,
      agentDir: options.agentDir,
      writeFd,
      signal: anySignal,
    });
    const ended = line.ended.then(() => {
      // Should the OCI runtime have failed, that says why.
      return running.then(() => {
        throw new RuntimeError('unavailable', 'the sandbox ended before its agent was ready');
      });
    });
    await Promise.race([Promise.all([ready, running]), ended]);
    return line;
  } catch (error) {
    failed.abort();
    line.close();
    throw error;
  }
};

const prepareRoot = async (options: StartOptions, folder: SandboxFolder): Promise<void> => {
  const { host, record, agentDir, command } = options;
  const { spec, slot } = record;
  const baseId = toBaseUid(slot);
  const config = toBundleConfig({
    hostname: spec.hostname,
    limits: spec.limits,
    root: folder.root,
    agentDir,
    guestDir: folder.guest,
    command,
    baseId,
    cgroupPath: host.cgroup(spec.id).path,
    limitsSwap: host.cgroups.limitsSwap,
    seccomp: host.seccomp,
    host: host.allowance,
  });
  const layout = { disk: folder.disk, baseId };
  const prepareDisk = async (): Promise<void> => {
    const [servers] = await Promise.all([
      spec.network.internet ? resolvConf() : '',
      host
        .formatDisk(folder.image, spec.limits.diskBytes)
        .then(() => mountDisk({ image: folder.image, target: folder.disk })),
    ]);
    await prepareUpper(layout, {
      hostname: `${spec.hostname}\n`,
      hosts: `127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n127.0.1.1 ${spec.hostname}\n`,
      resolvConf: servers,
    });
  };
  const idMap = openIdMap(baseId);
  try {
    const prepared = [
      idMap,
      prepareDisk(),
      writeFile(folder.config, JSON.stringify(config), { mode: 0o600 }),
      mkdir(folder.ociState, { mode: 0o700 }),
    ];
    // Nothing may still be under way when this fails: the caller then takes the ground away.
    await Promise.allSettled(prepared);
    await Promise.all(prepared);
    await mountRoot({
      layout,
      rootfs: spec.rootfs,
      target: folder.root,
      lower: folder.lower,
      userNamespace: await idMap,
    });
  } finally {
    await idMap.then(closeSync, () => undefined);
  }
};

const runContainer = async (options: {
  host: OciHost;
  record: SandboxRecord;
  folder: SandboxFolder;
  agentDir: string;
  writeFd: number;
  signal: AbortSignal;
}): Promise<void> => {
  const { host, record, folder, agentDir, writeFd, signal } = options;
  const { id, network } = record.spec;
  const pid = await host.runtime
    .start({ id, folder, agentDir, lifeFd: writeFd, signal })
    // From here on only the sandbox's own processes hold this end.
    .finally(() => closeSync(writeFd));
  await attachNetwork({
    pid,
    slot: record.slot,
    internet: network.internet,
    signal,
    stateDir: host.stateDir,
  });
};
