import { randomUUID } from 'node:crypto';
import { mkdir, readdir, stat } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import { RuntimeError, toRuntimeError } from '../../error.ts';
import type { AddressedInstance, AddressedRuntime } from '../../guest-socket.ts';
import { parseInstanceSpec } from '../../instance-spec.ts';
import type { Features, InstanceSpec } from '../../runtime.ts';
import { reserveSlot } from '../../slots.ts';
import { toSandboxesDir, toSandboxFolder } from './folder.ts';
import { readHost } from './host.ts';
import { createInstance } from './instance.ts';
import { adoptLifeLine, type LifeLine } from './life-line.ts';
import type { OciRuntimeName } from './oci-runtime.ts';
import { readRecord, type SandboxRecord, writeRecord } from './record.ts';
import { removeSandbox } from './remove.ts';
import { startSandbox } from './start.ts';

export interface OciOptions {
  /** Absolute path. One process at a time owns it. */
  dataDir: string;
  /** What is bound read-only to `/.envd` inside. */
  agentDir: string;
  /** The first process inside, by its path there. */
  command?: readonly string[];
  /** How long an agent may take to be ready. */
  startTimeoutMs?: number;
  /** Default: crun, or runc when that is missing. */
  ociRuntime?: OciRuntimeName;
  /** Where this host's servers agree on slots, when it is not the usual place. */
  stateDir?: string;
}

const defaultCommand = ['/.envd/tini', '--', '/.envd/node', '/.envd/app/main.js'];

const features: Features = {
  level: 'container',
  pause: { memory: false, filesystem: false },
  snapshot: false,
  network: true,
};

/**
 * Runs sandboxes as OCI containers, with no daemon: a bundle made here, and crun (or runc) to start it. Needs root.
 * @throws RuntimeError `unsupported` when this host has no OCI runtime
 */
export const createOci = (options: OciOptions): AddressedRuntime => {
  const { dataDir, agentDir, command = defaultCommand, startTimeoutMs = 15_000, stateDir } = options;
  // These would end the option of a mount and begin another.
  if (!isAbsolute(dataDir) || /[,:\\\s]/.test(dataDir)) {
    throw new RuntimeError(
      'unsupported',
      'the data folder is an absolute path without comma, colon, backslash, space',
    );
  }
  const host = readHost({ dataDir, stateDir, ociRuntime: options.ociRuntime });
  const known = new Map<string, { instance: AddressedInstance; line: LifeLine | undefined }>();
  const starting = new Set<string>();
  const stopping = new Map<string, Promise<void>>();

  const stop = (id: string): Promise<void> => {
    const running = stopping.get(id);
    if (running) return running;
    const stopped = removeSandbox(host, id).finally(() => stopping.delete(id));
    stopping.set(id, stopped);
    return stopped;
  };

  const remember = (id: string, runId: string, line: LifeLine | undefined): AddressedInstance => {
    const instance = createInstance({
      host,
      id,
      runId,
      line,
      stop: async () => {
        // A later sandbox of the same id is none of this instance's business.
        if (known.get(id)?.instance !== instance) return;
        await stop(id);
        if (known.get(id)?.instance === instance) known.delete(id);
      },
    });
    known.set(id, { instance, line });
    return instance;
  };

  /** Undefined when there is no such sandbox, or when it is still being made. */
  const find = async (id: string): Promise<AddressedInstance | undefined> => {
    if (starting.has(id)) return undefined;
    const entry = known.get(id);
    if (entry) return entry.instance;
    const folder = toSandboxFolder(dataDir, id);
    const record = await readRecord(folder.record);
    const isPresent = record !== undefined || (await isFolder(folder.path));
    // All of it may have changed while we read.
    if (!isPresent || starting.has(id) || stopping.has(id) || known.has(id)) return known.get(id)?.instance;
    const line = record?.phase === 'ready' ? adoptLifeLine(folder.lifeLine) : undefined;
    return remember(id, record?.runId ?? '', line);
  };

  const readSandboxes = async (): Promise<string[]> => {
    try {
      return await readdir(toSandboxesDir(dataDir));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
      throw error;
    }
  };

  const claimFolder = async (path: string): Promise<void> => {
    await mkdir(toSandboxesDir(dataDir), { recursive: true, mode: 0o711 });
    try {
      await mkdir(path, { mode: 0o711 });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      throw new RuntimeError('already_exists', 'there is a sandbox of this id');
    }
  };

  const make = async (spec: InstanceSpec, signal: AbortSignal): Promise<AddressedInstance> => {
    const folder = toSandboxFolder(dataDir, spec.id);
    try {
      const slot = await reserveSlot({ dataDir, id: spec.id, stateDir });
      const record: SandboxRecord = { version: 1, spec, runId: randomUUID(), slot, phase: 'starting' };
      await writeRecord(folder.record, record);
      const line = await startSandbox({ host, record, agentDir, command, signal });
      await writeRecord(folder.record, { ...record, phase: 'ready' });
      return remember(spec.id, record.runId, line);
    } catch (error) {
      await stop(spec.id);
      throw error;
    }
  };

  return {
    name: `oci-${host.runtime.name}`,
    features,
    create: async (spec, { signal } = {}) => {
      parseInstanceSpec(spec);
      const deadline = AbortSignal.timeout(startTimeoutMs);
      const anySignal = signal ? AbortSignal.any([signal, deadline]) : deadline;
      if (starting.has(spec.id)) throw new RuntimeError('already_exists', 'this sandbox is being made');
      starting.add(spec.id);
      try {
        await claimFolder(toSandboxFolder(dataDir, spec.id).path);
        return await make(spec, anySignal);
      } catch (error) {
        if (anySignal.aborted) {
          throw new RuntimeError('unavailable', 'the create was aborted or took too long', { cause: error });
        }
        if (isExhaustion(error)) throw new RuntimeError('exhausted', 'the host is full', { cause: error });
        throw toRuntimeError(error, `creating sandbox ${spec.id}`);
      } finally {
        starting.delete(spec.id);
      }
    },
    get: async (id) => {
      const instance = /^[a-z0-9]{1,40}$/.test(id) ? await find(id) : undefined;
      if (!instance) throw new RuntimeError('not_found', `no sandbox ${id}`);
      return instance;
    },
    list: async function* () {
      for (const id of await readSandboxes()) {
        const instance = await find(id);
        if (instance) yield instance;
      }
    },
    close: async () => {
      await Promise.allSettled(stopping.values());
      for (const { line } of known.values()) line?.close();
      known.clear();
    },
  };
};

/** Disk, memory, processes or descriptors of the host: what a later try may find again. */
const isExhaustion = (error: unknown): boolean =>
  ['ENOSPC', 'EDQUOT', 'ENOMEM', 'EAGAIN', 'EMFILE', 'ENFILE'].includes(
    (error as NodeJS.ErrnoException | undefined)?.code ?? '',
  );

const isFolder = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
