import { fromConnectError } from './failure.ts';
import type { Target } from './messages.ts';

/** The number of targets that fit into a request when they have the longest ids. */
const MAX_TARGETS = 100;

interface Waiting<T> {
  target: Target;
  resolve(answer: T | Promise<T>): void;
  reject(error: Error): void;
}

/**
 * Asks about instances, those that are asked about in one turn of the event loop in one call: a server looks at all of a node every few
 * seconds. What `many` leaves out of its answers, by birth id, is asked for with `one`. When `many` fails all of them reject, with a
 * `RuntimeError`.
 */
export const createBatchedCalls = <T>(calls: {
  one(target: Target): Promise<T>;
  many(targets: Target[]): Promise<ReadonlyMap<string, T>>;
}): ((target: Target) => Promise<T>) => {
  let waiting: Waiting<T>[] = [];

  const ask = async (asked: readonly Waiting<T>[]): Promise<void> => {
    const [first] = asked;
    if (first !== undefined && asked.length === 1) {
      first.resolve(calls.one(first.target));
      return;
    }
    try {
      const answers = await calls.many(asked.map(({ target }) => target));
      for (const { target, resolve } of asked) resolve(answers.get(target.birthId) ?? calls.one(target));
    } catch (error) {
      for (const { reject } of asked) reject(fromConnectError(error));
    }
  };

  const flush = (): void => {
    const asked = waiting;
    waiting = [];
    for (let at = 0; at < asked.length; at += MAX_TARGETS) void ask(asked.slice(at, at + MAX_TARGETS));
  };

  return (target) =>
    new Promise((resolve, reject) => {
      if (waiting.length === 0) setImmediate(flush);
      waiting.push({ target, resolve, reject });
    });
};
