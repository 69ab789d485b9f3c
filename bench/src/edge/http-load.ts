import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { findServerProgram } from '@skerry/platform/server-program';

export type HttpVersion = 'h1' | 'h2';

/** Whether the program is there that makes the load. */
export const hasLoadProgram = (): boolean => findServerProgram('nghttp2-client') !== undefined;

export const NO_LOAD_PROGRAM = 'h2load is missing: "node scripts/system-packages.ts --more" unpacks it';

/** Sends requests over 16 connections, and with HTTP/2 four at a time on each. Returns how many were answered in a second. Rejects unless all get 2xx. */
export async function sendLoad(
  url: string,
  {
    version,
    requests,
    port,
    connections = 16,
    headers = {},
  }: {
    version: HttpVersion;
    requests: number;
    /** On the loopback address, whatever the URL names. */
    port: number;
    connections?: number;
    headers?: Record<string, string>;
  },
): Promise<{ perSecond: number; seconds: number }> {
  const program = findServerProgram('nghttp2-client');
  if (program === undefined) throw new Error(NO_LOAD_PROGRAM);
  const { stdout } = await promisify(execFile)(
    program.path,
    [
      ...(version === 'h1' ? ['--h1'] : ['-m', String(connections === 1 ? 1 : 4)]),
      ...['-n', String(requests), '-c', String(connections), `--connect-to=127.0.0.1:${port}`],
      ...Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`]),
      url,
    ],
    { env: { ...process.env, ...program.env }, maxBuffer: 2 ** 24 },
  );
  const [, time, unit, rate] = /finished in ([\d.]+)(us|ms|s), ([\d.]+) req\/s/.exec(stdout) ?? [];
  const answered = /status codes: (\d+) 2xx/.exec(stdout)?.[1];
  if (rate === undefined || answered !== String(requests))
    throw new Error(`not all was answered:\n${stdout}`);
  const perUnit = { us: 1e6, ms: 1e3, s: 1 }[unit as 'us' | 'ms' | 's'];
  return { perSecond: Number(rate), seconds: Number(time) / perUnit };
}
