import { SandboxError } from '@skerry/sdk';
import {
  type BuildProgress,
  type BuildResult,
  type TemplateBuild,
  TemplateBuildError,
} from '@skerry/sdk/template';
import { CliError } from '../../cli-error.ts';
import { toSignalStatus } from '../../exit-status.ts';
import { printJson, printLine } from '../../output/print.ts';
import type { ProgressLine } from '../../output/progress-line.ts';
import { toPlainError } from '../for-each.ts';

interface ShowOptions {
  json: boolean;
  /** Shows no line of the log. */
  quiet?: boolean;
  line: ProgressLine;
}

/**
 * Shows the log of a build on the line and above it, and the time that it took, then prints the name of the template.
 * With `json` all is JSON on stdout, also an error, after which the status of this process is 1. Rejects with the error
 * otherwise. SIGINT, SIGTERM and SIGHUP cancel the build, and the status of this process is that of shells for the signal.
 */
export async function showBuild(handle: TemplateBuild, options: ShowOptions): Promise<void> {
  const startedAt = performance.now();
  let canceling: { signal: NodeJS.Signals; done: Promise<void> } | undefined;
  const cancel = (signal: NodeJS.Signals): void => {
    canceling ??= { signal, done: handle.cancel() };
    // Awaited below; this marks a rejection as handled.
    canceling.done.catch(() => undefined);
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, cancel);
  try {
    await showLog(handle, options);
    const result = await handle.result();
    options.line[Symbol.dispose]();
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    if (!options.json && !options.quiet)
      options.line.writeLine(`built ${toReference(result)} in ${seconds} s`);
    if (options.json) printJson(result);
    else printLine(toReference(result));
  } catch (error) {
    options.line[Symbol.dispose]();
    await canceling?.done;
    if (canceling) process.exitCode = toSignalStatus(canceling.signal);
    if (options.json && error instanceof SandboxError) {
      const { step, line } = error instanceof TemplateBuildError ? error : {};
      printJson({ error: { ...toPlainError(error), step, line } });
      process.exitCode ||= 1;
    } else if (canceling !== undefined) throw new CliError('the build was canceled');
    else throw error instanceof TemplateBuildError ? new CliError(toFailure(error)) : error;
  }
}

async function showLog(handle: TemplateBuild, { json, quiet, line }: ShowOptions): Promise<void> {
  let shown: string | undefined;
  for await (const entry of handle) {
    if (json) {
      printJson(entry);
      continue;
    }
    if (quiet) continue;
    // The first line of a step says what it does, and has its time on a terminal.
    const isTitle = entry.step === undefined || entry.step !== shown;
    shown = entry.step;
    if (isTitle) line.show({ message: entry.message });
    else line.writeLine(toLine(entry));
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
