import fc from 'fast-check';
import type { Arena } from './arena.ts';
import { judge } from './judge.ts';
import type { FuzzRequest } from './request.ts';
import { edgeHeaders } from './targets/edge-headers.ts';
import { paths, signatures } from './targets/file-queries.ts';
import { multipart } from './targets/multipart.ts';
import { platformCalls } from './targets/platform-calls.ts';
import { rawBytes } from './targets/raw-bytes.ts';
import { streams } from './targets/streams.ts';
import { binaryCalls, jsonCalls } from './targets/unary-calls.ts';

const TARGETS = {
  'json-calls': jsonCalls,
  'binary-calls': binaryCalls,
  streams,
  multipart,
  paths,
  signatures,
  'edge-headers': edgeHeaders,
  'raw-bytes': rawBytes,
  'platform-calls': platformCalls,
} satisfies Record<string, fc.Arbitrary<FuzzRequest>>;

export type TargetName = keyof typeof TARGETS;
export const TARGET_NAMES = Object.keys(TARGETS) as TargetName[];

export interface FuzzRunOptions {
  arena: Arena;
  target: TargetName;
  seed: number;
  /** Ends the run when it has not failed by then. */
  runs: number;
  maxMs: number;
  /** The runs that are made in any case. */
  leastRuns?: number;
  /** The path that a failure printed, which leads straight to its input. */
  path?: string;
}

export interface FuzzReport {
  target: TargetName;
  seed: number;
  runs: number;
  /** How many answers had which status; `none` for connections that were closed without one. */
  statuses: Record<string, number>;
  failure?: FuzzFailure;
}

export interface FuzzFailure {
  complaint: string;
  /** Replays it together with the seed and the target. Absent when it was not one input that failed. */
  path?: string;
  /** The smallest input that was found to fail so. */
  request?: FuzzRequest;
}

/** Sends inputs of one target, and examines agent and server afterwards. The same seed gives the same inputs. */
export const fuzz = async ({
  arena,
  target,
  seed,
  runs,
  maxMs,
  leastRuns = 0,
  path,
}: FuzzRunOptions): Promise<FuzzReport> => {
  const statuses: Record<string, number> = {};
  let complaint = '';
  let made = 0;
  const endMs = performance.now() + maxMs;
  const property = fc.asyncProperty(TARGETS[target], async (request) => {
    // What is left after the time is passed over.
    if (leastRuns > 0 && complaint === '' && made >= leastRuns && performance.now() > endMs) return true;
    made += 1;
    const conversation = await arena.send(request);
    const status = String(conversation.answers[0]?.status ?? 'none');
    statuses[status] = (statuses[status] ?? 0) + 1;
    const wrong = judge(request, conversation, arena.secrets);
    if (wrong === undefined) return true;
    complaint = wrong;
    return false;
  });
  const details = await fc.check(property, {
    seed,
    numRuns: path === undefined ? runs : 1,
    ...(leastRuns > 0 ? {} : { interruptAfterTimeLimit: maxMs, markInterruptAsFailure: false }),
    ...(path === undefined ? {} : { path }),
  });
  const report: FuzzReport = { target, seed, runs: made, statuses };
  const request = details.counterexample?.[0];
  if (details.failed && request !== undefined) {
    const at = details.counterexamplePath;
    // Without a complaint the property itself has thrown.
    complaint ||= details.errorInstance instanceof Error ? `${details.errorInstance.stack}` : 'failed';
    return { ...report, failure: { complaint, request, ...(at === null ? {} : { path: at }) } };
  }
  const wrong = await arena.examine();
  return wrong === undefined ? report : { ...report, failure: { complaint: wrong } };
};

/** What a person needs to see and repeat a failure. */
export const describeFailure = ({ target, seed, failure }: FuzzReport): string => {
  if (failure === undefined) return '';
  const { complaint, path, request } = failure;
  const replay = `pnpm test:fuzz --target ${target} --seed ${seed}${path === undefined ? '' : ` --path ${path}`}`;
  const input =
    request === undefined
      ? []
      : [JSON.stringify(request.head), `body, in base64: ${Buffer.from(request.body).toString('base64')}`];
  return [`${target}: ${complaint}`, ...input, `again: ${replay}`].join('\n');
};
