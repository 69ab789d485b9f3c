import type { components } from '@skerry/platform-client';
import { SandboxError, type SandboxErrorCode } from '../errors.ts';
import type { CallOptions } from '../transport/call.ts';
import { type Connection, callApi } from '../transport/connection.ts';
import { sleep } from '../transport/sleep.ts';
import type { BuildProgress } from './build-handle.ts';

type BuildInfo = components['schemas']['BuildInfo'];

/** @internal */
export interface FollowOptions extends CallOptions {
  templateId: string;
  buildId: string;
  onProgress: (entry: BuildProgress) => void;
  /** False ends at the last entry that there is, also when the build still runs. */
  untilEnd: boolean;
}

const PAGE_ENTRIES = 100;
const FIRST_INTERVAL_MS = 100;
const MAX_INTERVAL_MS = 1_000;
/** A command tries to attach again for as long. */
const MAX_OUTAGE_MS = 10_000;
const transient: readonly SandboxErrorCode[] = ['connection_failed', 'unavailable'];

/**
 * Reads the log of a build to its end, also across a connection that breaks for up to ten seconds, and returns its last state.
 *
 * @internal
 */
export async function followBuild(connection: Connection, options: FollowOptions): Promise<BuildInfo> {
  const { templateId, buildId, onProgress, untilEnd, signal = new AbortController().signal } = options;
  let logsOffset = 0;
  let intervalMs = FIRST_INTERVAL_MS;
  let outageSince: number | undefined;
  for (;;) {
    const path = { templateID: templateId, buildID: buildId };
    const page = await callApi(connection, options, (api, callSignal) =>
      api.GET('/templates/{templateID}/builds/{buildID}/status', {
        params: { path, query: { logsOffset, limit: PAGE_ENTRIES } },
        signal: callSignal,
      }),
    ).catch((error: unknown) => {
      outageSince ??= Date.now();
      const isOver = Date.now() - outageSince > MAX_OUTAGE_MS;
      if (isOver || !(error instanceof SandboxError) || !transient.includes(error.code)) throw error;
      return undefined;
    });
    if (page) {
      outageSince = undefined;
      const { logEntries, status } = page.data;
      for (const entry of logEntries) onProgress(toBuildProgress(entry));
      logsOffset += logEntries.length;
      const isRunning = status === 'waiting' || status === 'building';
      if (logEntries.length === 0 && !(isRunning && untilEnd)) return page.data;
      intervalMs = logEntries.length > 0 ? FIRST_INTERVAL_MS : Math.min(intervalMs * 2, MAX_INTERVAL_MS);
      if (!isRunning || logEntries.length === PAGE_ENTRIES) continue;
    }
    await sleep(intervalMs, signal);
  }
}

const toBuildProgress = (entry: components['schemas']['BuildLogEntry']): BuildProgress => ({
  step: entry.step,
  level: entry.level,
  message: entry.message,
  time: new Date(entry.timestamp),
});
