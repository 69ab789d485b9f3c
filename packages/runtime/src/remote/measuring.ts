import type { ListUsageResponse_Measured } from '../gen/skerry/runtime/v1/runtime_pb.ts';
import type { Usage } from '../runtime.ts';
import { parseUsage, type Target } from './messages.ts';

/** With the longest ids, so many targets fit into a request. */
const MAX_TARGETS = 100;

interface Waiting {
  target: Target;
  resolve(usage: Usage | Promise<Usage>): void;
}

/**
 * Measures instances, those that are asked for at the same moment in one call: a server samples all of a node every few seconds. Rejects as
 * `one` does, by which those are measured that `many` leaves out, and all when it fails, as at a node without it.
 */
export const createMeasuring = (calls: {
  one(target: Target): Promise<Usage>;
  many(targets: Target[]): Promise<ListUsageResponse_Measured[]>;
}): ((target: Target) => Promise<Usage>) => {
  let waiting: Waiting[] = [];

  const measure = async (asked: readonly Waiting[]): Promise<void> => {
    const targets = asked.map(({ target }) => target);
    const measured = asked.length > 1 ? await calls.many(targets).catch(() => []) : [];
    const found = new Map(measured.map(({ birthId, usage }) => [birthId, usage]));
    for (const { target, resolve } of asked) {
      const usage = found.get(target.birthId);
      resolve(usage ? parseUsage(usage) : calls.one(target));
    }
  };

  const flush = (): void => {
    const asked = waiting;
    waiting = [];
    for (let at = 0; at < asked.length; at += MAX_TARGETS) void measure(asked.slice(at, at + MAX_TARGETS));
  };

  return (target) =>
    new Promise((resolve) => {
      if (waiting.length === 0) setImmediate(flush);
      waiting.push({ target, resolve });
    });
};
