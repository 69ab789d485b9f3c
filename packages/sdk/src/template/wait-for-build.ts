import { SandboxError, toSandboxError } from '../errors.ts';
import { type Connection, callApi } from '../transport/connection.ts';
import type { ConnectionOptions } from '../transport/connection-options.ts';
import { type BuildProgress, type BuildResult, TemplateBuild, TemplateBuildError } from './build-handle.ts';
import { followBuild } from './follow-build.ts';

const LAST_LINES = 20;

/** What a build does while it is made. */
export interface BuildRun {
  onProgress: (entry: BuildProgress) => void;
  /** To be called when the service knows the build, before it is started. */
  onRegistered: (build: RegisteredBuild) => void;
  signal: AbortSignal;
}

type RegisteredBuild = Pick<BuildResult, 'templateId' | 'buildId'>;

/** The handle of a build that `run` makes. An error after the abort of the signal, or after `cancel`, has the code `canceled`. */
export function startBuild(
  connection: Connection,
  options: ConnectionOptions,
  run: (build: BuildRun) => Promise<BuildResult>,
): TemplateBuild {
  const canceling = new AbortController();
  const signal = AbortSignal.any([canceling.signal, ...(options.signal ? [options.signal] : [])]);
  let registered: RegisteredBuild | undefined;
  const onRegistered = (build: RegisteredBuild): void => {
    registered = build;
  };
  const made = async (onProgress: BuildRun['onProgress']): Promise<BuildResult> => {
    try {
      return await run({ onProgress, onRegistered, signal });
    } catch (error) {
      if (!signal.aborted || error instanceof SandboxError) throw error;
      throw toSandboxError('canceled', 'the call was aborted', { cause: signal.reason });
    }
  };
  return new TemplateBuild(made, async () => {
    canceling.abort();
    if (registered === undefined) return;
    const path = { templateID: registered.templateId, buildID: registered.buildId };
    const { signal: _ended, ...own } = options;
    await callApi(connection, own, (api, signal) =>
      api.DELETE('/skerry/v1/templates/{templateID}/builds/{buildID}', { params: { path }, signal }),
    );
  });
}

/**
 * Resolves when a build is ready, with `onProgress` for each line of its log. Rejects with `TemplateBuildError` when it fails, which
 * names the line that `toLine` returns for its step.
 */
export async function waitForBuild(
  connection: Connection,
  options: Omit<Parameters<typeof followBuild>[1], 'untilEnd'> & {
    toLine?: (step: string | undefined) => number | undefined;
  },
): Promise<void> {
  const { templateId, buildId, onProgress, toLine } = options;
  const lastLines: BuildProgress[] = [];
  const end = await followBuild(connection, {
    ...options,
    untilEnd: true,
    onProgress: (entry) => {
      lastLines.push(entry);
      if (lastLines.length > LAST_LINES) lastLines.shift();
      onProgress(entry);
    },
  });
  if (end.status === 'ready') return;
  const { message = 'the build failed', step } = end.reason ?? {};
  throw new TemplateBuildError(message, { templateId, buildId, step, line: toLine?.(step), lastLines });
}
