import type { HostOptions } from '@skerry/server';
import { createLog, type LogLevel, logLevels } from '@skerry/server/log';
import { type Command, Option } from 'commander';
import { toSignalStatus } from '../../exit-status.ts';
import { printJson, printLines } from '../../output/print.ts';
import { createProgressLine } from '../../output/progress-line.ts';
import { OPTION_GROUPS } from './option-groups.ts';

/** The flags of `withForegroundOptions`. */
export interface ForegroundFlags {
  logLevel: LogLevel;
  json?: boolean;
}

/** Adds the flags of a command that serves until it is stopped. */
export const withForegroundOptions = (command: Command): Command =>
  command
    .optionsGroup(OPTION_GROUPS.observability)
    .addOption(
      new Option(
        '--log-level <level>',
        'lowest level of the log on stderr, which is JSON unless that is a terminal; debug adds a line for each request',
      )
        .choices(logLevels)
        .default('info'),
    )
    .option(
      '--json',
      'print one line of JSON when ready, and nothing else, on stdout; the default unless stdout is a terminal',
    );

/** What a service in the foreground is started with. */
export interface Foreground extends Pick<HostOptions, 'log' | 'onProgress' | 'signal'> {
  /** Whether each request is a line of the log. */
  logsAccess: boolean;
}

/** A service that serves. */
export interface Running {
  /** The line of JSON, and the text for a person. */
  ready: { json: object; text: string };
  /** Resolves with lines for a person who has read the text; the signal says that the service stops. */
  learn?(signal: AbortSignal): Promise<string[]>;
  /** Resolves with the reason when it can no longer work. */
  failed?: Promise<Error>;
  /** Lets what is in progress end before `close`; resolves at once when the signal aborts. */
  drain?(signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/**
 * Starts a service, reports that it is ready, and on SIGINT, SIGHUP or SIGTERM drains and closes it. A second one ends the draining at once.
 * One of these before it is ready ends the start, with a line at once and the status of shells for that signal. Rejects as the start does, and when the service fails.
 */
export async function runInForeground(
  { logLevel, json }: ForegroundFlags,
  start: (foreground: Foreground) => Promise<Running>,
): Promise<void> {
  const stopping = new AbortController();
  const { promise: stopped, resolve: noteStopped } = Promise.withResolvers<void>();
  using progress = createProgressLine();
  let isReady = false;
  const hurrying = new AbortController();
  const stop = (signal: NodeJS.Signals): void => {
    if (stopping.signal.aborted) hurrying.abort();
    // The next Ctrl-C ends this process, whatever it waits for.
    if (!isReady || stopping.signal.aborted) process.off('SIGINT', stop);
    if (!isReady && !stopping.signal.aborted) {
      progress[Symbol.dispose]();
      progress.writeLine('skerry: stopped before it was ready');
      process.exitCode = toSignalStatus(signal);
    }
    stopping.abort();
    noteStopped();
  };
  // "skerry down" may signal a server that is already stopping; it must complete the stop.
  for (const signal of ['SIGINT', 'SIGHUP', 'SIGTERM'] as const) process.on(signal, stop);

  const starting = start({
    log: createLog({
      write: (line) => progress.writeLine(line),
      level: logLevel,
      isForPerson: process.stderr.isTTY,
    }),
    logsAccess: logLevel === 'debug',
    onProgress: (step) => {
      if (!stopping.signal.aborted) progress.show(step);
    },
    signal: stopping.signal,
  });
  const running = await starting.catch((error: unknown) => {
    // The server ended because of a signal or a command.
    if (stopping.signal.aborted) return undefined;
    throw error;
  });
  if (running === undefined) return;
  let learning: Promise<void> | undefined;
  if (!stopping.signal.aborted) {
    isReady = true;
    progress[Symbol.dispose]();
    const isForPerson = process.stdout.isTTY && !json;
    if (isForPerson) {
      printLines(running.ready.text.trimEnd().split('\n'));
      learning = running.learn?.(stopping.signal).then(printLines);
    } else printJson(running.ready.json);
  }
  const failure = await Promise.race([stopped, running.failed ?? stopped]);
  stopping.abort();
  if (failure === undefined) await running.drain?.(hurrying.signal);
  await Promise.all([running.close(), learning]);
  if (failure) throw failure;
}
