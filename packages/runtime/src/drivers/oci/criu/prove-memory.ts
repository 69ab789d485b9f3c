import { readFile, rename, stat, writeFile } from 'node:fs/promises';
import { release, version } from 'node:os';
import { text } from 'node:stream/consumers';
import { RuntimeError } from '../../../error.ts';
import type { Instance, InstanceSettings, Runtime } from '../../../runtime.ts';

const MIB = 2 ** 20;

export interface MemoryProof {
  pauseMs: number;
  resumeMs: number;
}

/**
 * Makes a sandbox with an empty root, keeps its memory, wakes it and talks to its agent; resolves with how long that took.
 * And to that of a copy. Rejects with what went wrong. Nothing of the sandboxes is left.
 */
export const proveMemory = async (runtime: Runtime, options: { rootfs: string }): Promise<MemoryProof> => {
  if (!runtime.features.pause.memory) {
    throw new RuntimeError('unsupported', 'CRIU does not work on this kernel');
  }
  const limits = { cpuCount: 0.5, memoryBytes: 256 * MIB, diskBytes: 32 * MIB, processCount: 50 };
  const settings = { hostname: 'probe', limits, network: { internet: false } };
  const id = `memory${process.pid}`;
  const instance = await runtime.create({ id, rootfs: options.rootfs, ...settings });
  try {
    await talk(instance);
    const begun = performance.now();
    await instance.pause({ memory: true });
    const paused = performance.now();
    await instance.resume({ memory: true });
    const resumeMs = Math.round(performance.now() - paused);
    await talk(instance);
    await proveCopy(runtime, { instance, settings: { ...settings, hostname: 'copy' } });
    return { pauseMs: Math.round(paused - begun), resumeMs };
  } finally {
    await instance.stop();
  }
};

const proveCopy = async (
  runtime: Runtime,
  { instance, settings }: { instance: Instance; settings: Omit<InstanceSettings, 'id'> },
): Promise<void> => {
  const id = `${instance.id}copy`;
  await instance.snapshot({ id, memory: true, lasting: false });
  try {
    const copy = await runtime.create({ id, snapshot: id, ...settings });
    try {
      await talk(copy);
    } finally {
      await copy.stop();
    }
  } finally {
    await runtime.snapshots.delete(id);
  }
};

/** Also where the host is busy: who is refused memory for being late is refused it for as long as this process lives. */
const ANSWER_MS = 30_000;

/** Whatever it answers: a process does. */
const talk = async (instance: Instance): Promise<void> => {
  const stream = await instance.control({ signal: AbortSignal.timeout(ANSWER_MS) });
  stream.write('GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n');
  const timer = setTimeout(() => stream.destroy(new Error('the agent does not answer')), ANSWER_MS);
  try {
    if ((await text(stream)) === '') throw new Error('the agent does not answer');
  } finally {
    clearTimeout(timer);
    stream.destroy();
  }
};

/**
 * Whether memory can be kept here, proved by doing it: once for a kernel and the program that keeps it. Rejects with what went
 * wrong; that is tried again every time.
 */
export const ensureMemoryProof = async (
  runtime: Runtime,
  options: { program: string; proofPath: string; rootfs: string },
): Promise<void> => {
  const { program, proofPath: path, rootfs } = options;
  const { size, mtimeMs } = await stat(program);
  const proof = JSON.stringify({
    kernel: [release(), version()],
    program: [size, mtimeMs],
    on: runtime.name,
  });
  if ((await readFile(path, 'utf8').catch(() => '')) === proof) return;
  await proveMemory(runtime, { rootfs });
  const next = `${path}.${process.pid}`;
  try {
    await writeFile(next, proof);
    await rename(next, path);
  } catch {
    // Where the folder cannot be written, it is proved again at the next start.
  }
};
