import { SandboxError } from '@skerry/sdk';
import {
  type BuildProgress,
  type BuildResult,
  type TemplateBuild,
  TemplateBuildError,
} from '@skerry/sdk/template';
import { CliError } from '../../cli-error.ts';
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
 * otherwise.
 */
export async function showBuild(handle: TemplateBuild, options: ShowOptions): Promise<void> {
  const startedAt = performance.now();
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
    if (options.json && error instanceof SandboxError) {
      const { step, line } = error instanceof TemplateBuildError ? error : {};
      printJson({ error: { ...toPlainError(error), step, line } });
      process.exitCode = 1;
    } else throw error instanceof TemplateBuildError ? new CliError(toFailure(error)) : error;
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
