import type { SandboxUsage } from '@skerry/contract/agent-control';
import { ApiError, invalid } from '@skerry/contract/error';

/**
 * Fetches figures that only the host can measure: inside, cgroups are masked and /proc/meminfo describes the whole host.
 */
export interface HostUsage {
  /** Asks the host. Rejects with `unavailable` when it does not answer. */
  ask(): Promise<SandboxUsage>;
  /** Calls `listener` for each question. There is one listener; a new one replaces it. The returned function removes it. */
  onAsk(listener: () => void): () => void;
  /** Accepts the answer of the host. Throws `invalid_argument` when a figure is missing. */
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
  const { oomKills } = given;
  if (oomKills !== undefined && !Number.isSafeInteger(oomKills)) throw invalid('oomKills must be an integer');
  return given as unknown as SandboxUsage;
};

export const createHostUsage = ({ answerMs = ANSWER_MS } = {}): HostUsage => {
  let listener: (() => void) | undefined;
  let asking: PromiseWithResolvers<SandboxUsage> | undefined;

  return {
    ask() {
      // Callers that ask meanwhile share this answer.
      if (asking !== undefined) return asking.promise;
      const question = Promise.withResolvers<SandboxUsage>();
      const late = setTimeout(() => {
        question.reject(new ApiError('unavailable', 'the host did not report the usage of this sandbox'));
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
      // The question came before the host was connected.
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
