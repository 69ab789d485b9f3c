import type { SandboxUsage } from '@skerry/contract/agent-control';
import { ApiError, invalid } from '@skerry/contract/error';

/**
 * The way to figures that only the host sees: inside, the control groups are masked and /proc/meminfo is that of the whole host.
 */
export interface HostUsage {
  /** Asks the host. Rejects with `unavailable` when it does not answer. */
  ask(): Promise<SandboxUsage>;
  /** Calls back for each question. There is one listener; the next takes its place. The returned function takes it back. */
  onAsk(listener: () => void): () => void;
  /** The answer of the host. Throws `invalid_argument` when it is none. */
  tell(body: unknown): void;
}

const ANSWER_MS = 5_000;
const FIELDS = [
  'timestampMs',
  'cpuCount',
  'cpuUsedPct',
  'memoryTotalBytes',
  'memoryUsedBytes',
  'memoryCacheBytes',
  'diskTotalBytes',
  'diskUsedBytes',
] as const satisfies readonly (keyof SandboxUsage)[];

const parseUsage = (body: unknown): SandboxUsage => {
  const given = Object(body) as Record<string, unknown>;
  const wrong = FIELDS.find((name) => typeof given[name] !== 'number');
  if (wrong !== undefined) throw invalid(`${wrong} must be a number`);
  return given as unknown as SandboxUsage;
};

export const createHostUsage = ({ answerMs = ANSWER_MS } = {}): HostUsage => {
  let listener: (() => void) | undefined;
  let asking: PromiseWithResolvers<SandboxUsage> | undefined;

  return {
    ask() {
      // Whoever asks meanwhile gets the same answer.
      if (asking !== undefined) return asking.promise;
      const question = Promise.withResolvers<SandboxUsage>();
      const late = setTimeout(() => {
        question.reject(new ApiError('unavailable', 'the host does not say what this sandbox uses'));
      }, answerMs);
      asking = question;
      listener?.();
      return question.promise.finally(() => {
        clearTimeout(late);
        asking = undefined;
      });
    },
    onAsk(next) {
      listener = next;
      // Asked before the host was there.
      if (asking !== undefined) next();
      return () => {
        if (listener === next) listener = undefined;
      };
    },
    tell(body) {
      const usage = parseUsage(body);
      asking?.resolve(usage);
    },
  };
};
