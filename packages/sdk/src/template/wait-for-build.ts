import { SandboxError, toSandboxError } from '../errors.ts';
import type { Connection } from '../transport/connection.ts';
import { type BuildProgress, type BuildResult, TemplateBuild, TemplateBuildError } from './build-handle.ts';
import { followBuild } from './follow-build.ts';

const LAST_LINES = 20;

/** The handle of a build that `run` makes. An error after the abort of `signal` has the code `canceled`. */
export function startBuild(
  signal: AbortSignal,
  run: (onProgress: (entry: BuildProgress) => void) => Promise<BuildResult>,
): TemplateBuild {
  return new TemplateBuild(async (onProgress) => {
    try {
      return await run(onProgress);
    } catch (error) {
      if (!signal.aborted || error instanceof SandboxError) throw error;
      throw toSandboxError('canceled', 'the call was aborted', { cause: signal.reason });
    }
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
