import { text } from 'node:stream/consumers';
import { isDeepStrictEqual } from 'node:util';
import { isRuntimeError, RuntimeError } from '../../../error.ts';
import { CLOSED_NETWORK } from '../../../network/policy.ts';
import type { Instance, InstanceSettings, Runtime } from '../../../runtime.ts';
import { keepProof, type ProofFile, readProof, toProof } from './kept-proof.ts';

const MIB = 2 ** 20;

export interface MemoryProof {
  pauseMs: number;
  resumeMs: number;
}

/**
 * Makes a sandbox with an empty root, pauses it with its memory, resumes it and makes its agent start a program; the
 * same in a copy. Resolves with the duration of pause and resume. Rejects with the failure. Nothing of the sandboxes is
 * left.
 */
export const proveMemory = async (runtime: Runtime, options: { rootfs: string }): Promise<MemoryProof> => {
  if (!runtime.features.pause.memory) {
    throw new RuntimeError('unsupported', 'CRIU does not work on this kernel');
  }
  const limits = { cpuCount: 1, memoryBytes: 256 * MIB, diskBytes: 32 * MIB, processCount: 50 };
  const settings = { hostname: 'probe', limits, network: CLOSED_NETWORK };
  const id = `memory${process.pid}`;
  const instance = await runtime.create({ id, rootfs: options.rootfs, ...settings });
  try {
    await testAgent(instance, 'in a new sandbox');
    const begun = performance.now();
    await instance.pause({ memory: true });
    const paused = performance.now();
    await instance.resume({ memory: true });
    const resumeMs = Math.round(performance.now() - paused);
    await testAgent(instance, 'in a sandbox that was resumed with its memory');
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
  await instance.snapshot({ id, memory: true, ephemeral: true });
  try {
    const copy = await runtime.create({ id, snapshot: id, ...settings });
    try {
      await testAgent(copy, 'in a copy of a running sandbox');
    } finally {
      await copy.stop();
    }
  } finally {
    await runtime.snapshots.delete(id);
  }
};

/** Long enough for a busy host: after one late answer this process keeps no memory for as long as it lives. */
const ANSWER_MS = 60_000;

/**
 * Resolves when the agent has started a program in the same way as commands. Otherwise rejects with `unavailable` and
 * the reason.
 */
const testAgent = async (instance: Instance, when: string): Promise<void> => {
  const deadline = AbortSignal.timeout(ANSWER_MS);
  const stream = await instance.control({ signal: deadline });
  const destroy = (): void => void stream.destroy(new Error('the agent does not answer'));
  deadline.addEventListener('abort', destroy);
  try {
    stream.write(
      'POST /self-test HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\nconnection: close\r\n\r\n',
    );
    const answer = await text(stream);
    const [head = '', body = ''] = answer.split('\r\n\r\n', 2);
    if (/^HTTP\/1\.1 200 /.test(head)) return;
    throw new Error(
      answer === '' ? 'the agent does not answer' : body.slice(0, 500) || head.split('\r\n', 1)[0],
    );
  } catch (error) {
    throw new RuntimeError('unavailable', `no command can be started ${when}`, { cause: error });
  } finally {
    deadline.removeEventListener('abort', destroy);
    stream.destroy();
  }
};

/** CRIU is killed on a host that is short of memory for a moment, and this process would keep no memory as long as it lives. */
const PROOF_TRIES = 3;

const proveUnlessExhausted = async (runtime: Runtime, options: { rootfs: string }): Promise<void> => {
  for (let tries = 1; ; tries++) {
    try {
      await proveMemory(runtime, options);
      return;
    } catch (error) {
      if (!isRuntimeError(error, 'exhausted') || tries === PROOF_TRIES) throw error;
    }
  }
};

/**
 * Proves by a pause and a resume that memory can be kept here: once for each kernel and program. Rejects with the
 * failure; that is tried again every time, and at once when the host had no room.
 */
export const ensureMemoryProof = async (
  runtime: Runtime,
  { rootfs, ...file }: ProofFile & { rootfs: string },
): Promise<void> => {
  const proof = { ...(await toProof(file.program)), on: runtime.name };
  if (isDeepStrictEqual(await readProof(file.proofPath), proof)) return;
  await proveUnlessExhausted(runtime, { rootfs });
  await keepProof(file.proofPath, proof);
};
