import { SandboxError } from '@skerry/sdk';
import {
  type BuildProgress,
  type BuildResult,
  type TemplateBuild,
  TemplateBuildError,
} from '@skerry/sdk/template';
import { UserError } from '@skerry/server/user-error';
import { toSignalStatus } from '../../exit-status.ts';
import { printJson, printLine } from '../../output/print.ts';
import type { ProgressLine } from '../../output/progress-line.ts';
import { toPlainError } from '../for-each.ts';

export interface FollowOptions {
  line: ProgressLine;
  /** Shows no line of the log. */
  quiet?: boolean;
  /** Also shows why the result of a step was not taken from the cache, and what ready checks print. */
  verbose?: boolean;
}

/**
 * Shows the log of a build, each step with its title, its lines below and the time that it took. Resolves with the template; rejects
 * with `UserError` when the build fails or is canceled, and as `TemplateBuild.result` otherwise. SIGINT, SIGTERM and SIGHUP cancel the
 * build, and the status of this process is that of shells for the signal.
 */
export async function followBuild(handle: TemplateBuild, options: FollowOptions): Promise<BuildResult> {
  const { line } = options;
  const startedAt = performance.now();
  using canceling = cancelAtSignals(handle);
  try {
    await showLog(handle, options);
    const result = await handle.result();
    line[Symbol.dispose]();
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    if (!options.quiet) line.writeLine(`built ${toReference(result)} in ${seconds} s`);
    return result;
  } catch (error) {
    line[Symbol.dispose]();
    if (await canceling.isCanceled()) throw new UserError('the build was canceled');
    throw error instanceof TemplateBuildError ? new UserError(toFailure(error)) : error;
  }
}

/**
 * Shows a build and prints the name of the template. With `json` all is JSON on stdout, also an error, after which the status of this
 * process is 1. Rejects as `followBuild` otherwise.
 */
export async function showBuild(
  handle: TemplateBuild,
  { json, ...options }: FollowOptions & { json: boolean },
): Promise<void> {
  if (!json) return printLine(toReference(await followBuild(handle, options)));
  using canceling = cancelAtSignals(handle);
  try {
    for await (const entry of handle) printJson(entry);
    printJson(await handle.result());
  } catch (error) {
    await canceling.isCanceled();
    if (!(error instanceof SandboxError)) throw error;
    const { step, line } = error instanceof TemplateBuildError ? error : {};
    printJson({ error: { ...toPlainError(error), step, line } });
    process.exitCode ||= 1;
  }
}

const endingSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Cancels the build at the first signal that ends a process, until it is disposed of. `isCanceled` resolves when the server has the
 * cancel; the status of this process is then that of shells for the signal.
 */
function cancelAtSignals(handle: TemplateBuild): Disposable & { isCanceled(): Promise<boolean> } {
  let canceling: Promise<void> | undefined;
  const cancel = (signal: NodeJS.Signals): void => {
    if (canceling !== undefined) return;
    process.exitCode = toSignalStatus(signal);
    canceling = handle.cancel();
    // Awaited by `isCanceled`; this marks a rejection as handled.
    canceling.catch(() => undefined);
  };
  for (const signal of endingSignals) process.on(signal, cancel);
  return {
    isCanceled: async () => {
      await canceling;
      return canceling !== undefined;
    },
    [Symbol.dispose]: () => {
      for (const signal of endingSignals) process.off(signal, cancel);
    },
  };
}

async function showLog(handle: TemplateBuild, { quiet, verbose, line }: FollowOptions): Promise<void> {
  let shown: string | undefined;
  for await (const entry of handle) {
    if (quiet || (entry.level === 'debug' && !verbose)) continue;
    // The first line of a step says what it does.
    const isTitle = entry.step === undefined || entry.step !== shown;
    shown = entry.step;
    if (isTitle) line.show({ message: entry.message });
    else line.writeBelow(toLine(entry));
  }
}

/** What `sandbox create` takes. */
function toReference({ name, tags }: BuildResult): string {
  const [tag] = tags;
  return tag === undefined || tags.includes('default') ? name : `${name}:${tag}`;
}

function toFailure({ message, step, line }: TemplateBuildError): string {
  const place = step !== undefined && /^\d+$/.test(step) ? `step ${step}` : step;
  const where = line === undefined ? place : `line ${line} of the Dockerfile`;
  return where === undefined ? message : `${where}: ${message}`;
}

const toLine = ({ level, message }: BuildProgress): string =>
  `  ${level === 'error' || level === 'warn' ? `${level}: ` : ''}${message}`;
