import { ApiError, conflict, invalid, isUnavailable } from '@skerry/contract/error';
import { type Instance, isRuntimeError } from '@skerry/runtime';
import type { Clock } from '../clock.ts';
import { ElsewhereError } from '../hosts/elsewhere.ts';
import { findInstanceOn } from '../hosts/find-instance.ts';
import type { Host, Hosts } from '../hosts/hosts.ts';
import type { Limits } from '../limits.ts';
import { toMemoryExtraMs } from '../limits.ts';
import type { Log } from '../log.ts';
import type { BlobCopyRow } from '../store/blob-copies/copy-rows.ts';
import { notOwner } from '../store/leases/fence.ts';
import type { ResumeReservation, SandboxRow } from '../store/rows.ts';
import type { Store } from '../store/store.ts';
import type { Recovery } from './recovery.ts';
import { limitReached, quotaExceeded, quotaExceededByTraffic } from './refused-reservation.ts';
import type { Relocator } from './relocator.ts';
import { nodeFull, toStartError } from './start-error.ts';
import type { TimeToLive } from './time-to-live.ts';
import type { Transitions } from './transitions.ts';
import { explainMissing, isAlive, isWakeable, toBusyError, toMissingError } from './visible-state.ts';

export interface ResumeRequest {
  timeoutMs: number;
  /**
   * What that time is: `requested`, the time to live from now on; `default`, the least for a caller who named none, so that a paused
   * sandbox lives for as long as it did before; `remaining`, the rest of the run that a move to another node interrupts; `wake`, that of
   * the sandbox for traffic, which resumes only what it may, and extends nothing.
   */
  timeToLive?: 'requested' | 'default' | 'remaining' | 'wake';
  /** False: start from the files alone, and ignore a checkpoint. */
  memory: boolean;
  /** Whether another server has sent it here, where it has to stay. */
  isForwarded?: boolean;
}

/** Moves sandboxes from paused to running. */
export interface Resumer {
  /**
   * Makes sure that the sandbox runs and is usable, for at least that time; returns whether this call resumed it.
   * Waits for a transition in progress, a minute at most, and completes an abandoned one. When a resume fails the
   * sandbox is still paused. Rejects with `not_found`, with `conflict` when the wait timed out, with
   * `resource_exhausted` at the concurrency limit or a limit of its key, and with `invalid_argument` when the checkpoint is to be ignored
   * and the runtime cannot do so. Of several servers, rejects with `ElsewhereError` when another one has to do it.
   */
  connect(id: string, request: ResumeRequest): Promise<{ row: SandboxRow; wasPaused: boolean }>;
  /**
   * Resumes a paused sandbox. Rejects as `connect` does, and with `conflict` when the sandbox is running at
   * the time of the call.
   */
  resume(id: string, request: ResumeRequest): Promise<SandboxRow>;
}

export interface ResumerOptions {
  store: Store;
  hosts: Pick<Hosts, 'of' | 'owns' | 'servers'>;
  recovery: Recovery;
  transitions: Transitions;
  timeToLive: Pick<TimeToLive, 'extend'>;
  clock: Clock;
  log: Log;
  limits: Limits;
  /** Where there is a blob store. */
  relocator?: Relocator | undefined;
}

const CONNECT_WAIT_MS = 20_000;
const CONNECT_WAITS = 3;

export const createResumer = (options: ResumerOptions): Resumer => {
  const { store, hosts, recovery, transitions, timeToLive, relocator } = options;
  const { clock, log, limits } = options;

  const explain = async (id: string): Promise<Error> => {
    const row = await store.findSandbox(id);
    if (row?.state === 'running') return conflict(`sandbox "${id}" is already running`);
    return toBusyError(row) ?? toMissingError(id, row, clock);
  };

  const refuse = async (
    { id, project }: SandboxRow,
    reserved: Exclude<ResumeReservation, 'reserved' | 'node_full'>,
    { timeToLive }: ResumeRequest,
  ): Promise<Error> => {
    if (reserved === 'not_paused') return explain(id);
    if (reserved === 'limit') return limitReached(options, project);
    return timeToLive === 'wake' ? quotaExceededByTraffic() : quotaExceeded(reserved, clock);
  };

  /** The time to live of a resume. The server may have been started with a shorter longest run since the one that is kept. */
  const toTimeoutMs = (
    { timeToLiveMs, wakeMs }: SandboxRow,
    { timeoutMs, timeToLive }: ResumeRequest,
  ): number => {
    if (timeToLive === 'default') return Math.max(timeoutMs, Math.min(timeToLiveMs, limits.maxRunMs));
    return timeToLive === 'wake' ? Math.min(wakeMs ?? timeoutMs, limits.maxRunMs) : timeoutMs;
  };

  /** Resumes the instance of a row on its host. */
  const resumeOn = async (
    { runtime }: Host,
    id: string,
    { memory, signal }: { memory: boolean; signal: AbortSignal },
  ): Promise<Instance> => {
    // Resume without the memory if the caller requests that; otherwise with everything that was kept.
    await (await runtime.get(id)).resume({ signal, ...(!memory && { memory }) });
    // The former handle belongs to the run that was paused.
    return runtime.get(id);
  };

  const start = async (
    row: SandboxRow,
    { timeoutMs, memory, timeToLive = 'requested' }: ResumeRequest,
    begin: (signal: AbortSignal) => Promise<Instance>,
  ): Promise<SandboxRow> => {
    let step = 'resume the sandbox';
    const begunAt = clock.now();
    try {
      const extraMs = memory && row.pausedWith === 'memory' ? toMemoryExtraMs(row.memoryMb) : 0;
      const signal = AbortSignal.timeout(limits.startTimeoutMs + extraMs);
      const instance = await begin(signal);
      step = 'set up the agent';
      const recorded = timeToLive === 'requested' ? { ...row, timeToLiveMs: timeoutMs } : row;
      const resumed = await recovery.finishResume(recorded, instance, (startedAt) => startedAt + timeoutMs);
      if (resumed === undefined) throw await explainMissing({ store, clock }, row.id);
      log.info('sandbox resumed', { sandboxId: row.id, kind: row.pausedWith, tookMs: clock.now() - begunAt });
      return resumed;
    } catch (error) {
      if (error instanceof ApiError && error.code === 'not_found') throw error;
      log.error('sandbox did not resume', { sandboxId: row.id, step, error });
      // The resume may have succeeded although the response was lost.
      await recovery
        .recover(row.id)
        .catch((cause: unknown) =>
          log.error('a resume could not be completed', { sandboxId: row.id, error: cause }),
        );
      const found = await store.findSandbox(row.id);
      if (found?.state === 'running') return found;
      if (isRuntimeError(error, 'unsupported') && !memory) {
        throw invalid('body.memory: this server cannot resume without the checkpoint', { cause: error });
      }
      throw toStartError(step, error);
    }
  };

  /** Rejects unless this server may act for a sandbox, or resume it from the blob store for a server that has sent it here. */
  const requireHere = async ({ node, state }: SandboxRow, isForwarded: boolean): Promise<void> => {
    if (hosts.owns(node)) return;
    if (state === 'paused' && isForwarded && relocator !== undefined) return;
    const address = await hosts.servers.serverOf(node);
    if (address === undefined) return;
    throw isForwarded ? notOwner(node ?? '') : new ElsewhereError(address);
  };

  const resumePaused = async (id: string, options: ResumeRequest): Promise<SandboxRow> => {
    const row = await store.findSandbox(id);
    if (row?.state !== 'paused') throw await explain(id);
    if (options.timeToLive === 'wake' && !isWakeable(row)) throw toMissingError(id, row, clock);
    const request = { ...options, timeoutMs: toTimeoutMs(row, options) };
    const needed = await relocator?.needs(row);
    return needed === undefined ? resumeHere(row, request) : resumeFromCopy(row, needed, request);
  };

  /** Resumes a sandbox where it is, or from the blob store when its host has no place for it. */
  const resumeHere = async (row: SandboxRow, request: ResumeRequest): Promise<SandboxRow> => {
    const { id, node } = row;
    const host = hosts.of(node);
    const endAt = clock.now() + request.timeoutMs;
    const limit = { endAt, maxActive: limits.maxSandboxes, place: host.room() };
    const reserved = await store.reserveResume(id, limit);
    if (reserved === 'reserved') {
      const { memory } = request;
      return start({ ...row, state: 'resuming', endAt }, request, (signal) =>
        resumeOn(host, id, { memory, signal }),
      );
    }
    if (reserved !== 'node_full') throw await refuse(row, reserved, request);
    const stored = await relocator?.find(row);
    if (stored === undefined) throw nodeFull(node);
    return resumeElsewhere(row, stored, request);
  };

  /** Resumes a sandbox on another node, or where it is when no other one can take it. */
  const resumeFromCopy = async (
    row: SandboxRow,
    copy: BlobCopyRow,
    request: ResumeRequest,
  ): Promise<SandboxRow> => {
    try {
      return await resumeElsewhere(row, copy, request);
    } catch (error) {
      const isHere = await hasFiles(row);
      if (!isHere || !isUnavailable(error)) throw error;
      const sandboxId = row.id;
      log.warn('a sandbox resumes where it is, as no other node can take it', { sandboxId, error });
      return resumeHere(row, request);
    }
  };

  /** Whether the node of a paused sandbox is ready and has its files. */
  const hasFiles = async ({ id, node }: SandboxRow): Promise<boolean> => {
    try {
      const host = hosts.of(node);
      host.room();
      return (await findInstanceOn(host, id)) !== undefined;
    } catch {
      return false;
    }
  };

  const resumeElsewhere = async (
    row: SandboxRow,
    copy: BlobCopyRow,
    request: ResumeRequest,
  ): Promise<SandboxRow> => {
    if (relocator === undefined) throw nodeFull(row.node);
    const endAt = clock.now() + request.timeoutMs;
    return relocator.resume(row, copy, {
      memory: request.memory,
      isForwarded: request.isForwarded === true,
      reserve: (host) =>
        store.reserveResume(row.id, {
          ...{ endAt, maxActive: limits.maxSandboxes, moves: true },
          place: host.room(),
        }),
      onRefused: (reserved) => refuse(row, reserved, request),
      start: (moved, begin) => start({ ...moved, state: 'resuming', endAt }, request, begin),
    });
  };

  /** Resolves when the transition is over or has taken long; completes an abandoned one. */
  const awaitTransition = async (id: string): Promise<void> => {
    const current = transitions.current(id);
    if (current === undefined) {
      try {
        await transitions.run(id, 'recovery', () => recovery.recover(id));
      } catch (error) {
        throw toStartError('complete the previous transition', error);
      }
      return;
    }
    let cancel = (): void => {};
    const late = new Promise<void>((resolve) => {
      cancel = clock.after(CONNECT_WAIT_MS, resolve);
    });
    await Promise.race([current.over, late]);
    cancel();
  };

  /** Undefined when the sandbox is in a transition, or entered one between the check and the update. */
  const tryConnect = async (id: string, request: ResumeRequest) => {
    const row = await store.findSandbox(id);
    if (row === undefined || !isAlive(row.state)) throw toMissingError(id, row, clock);
    if (request.timeToLive === 'wake') {
      if (row.state === 'running') return { row, wasPaused: false };
      if (!isWakeable(row)) throw toMissingError(id, row, clock);
    }
    await requireHere(row, request.isForwarded === true);
    try {
      if (row.state === 'running') {
        return { row: await timeToLive.extend(id, request.timeoutMs), wasPaused: false };
      }
      if (row.state === 'paused' && transitions.current(id) === undefined) {
        const resumed = await transitions.run(id, 'resume', () => resumePaused(id, request));
        return { row: resumed, wasPaused: true };
      }
    } catch (error) {
      const hasMoved = error instanceof ApiError && (error.code === 'conflict' || error.code === 'not_found');
      if (!hasMoved) throw error;
    }
    return undefined;
  };

  const connect: Resumer['connect'] = async (id, request) => {
    for (let waits = 0; waits <= CONNECT_WAITS; waits += 1) {
      if (waits > 0) await awaitTransition(id);
      const connected = await tryConnect(id, request);
      if (connected !== undefined) return connected;
    }
    throw await explain(id);
  };

  const resume: Resumer['resume'] = async (id, request) => {
    if ((await store.findSandbox(id))?.state === 'running') throw await explain(id);
    return (await connect(id, request)).row;
  };

  return { resume, connect };
};
