import { invalid, toErrorBody } from '@skerry/contract/error';
import type { components } from '@skerry/platform-client';
import type { PauseKind, SandboxRow } from '../store/rows.ts';
import { parseTimeout } from './new-sandbox.ts';
import type { Caller, HandlerContext, PlatformHandlers } from './platform-handlers.ts';
import { parseSandboxId } from './sandbox-id.ts';
import { type ReplyContext, toSandbox } from './sandbox-replies.ts';

type ForkRoute = 'POST /sandboxes/{sandboxID}/fork' | 'POST /v2/sandboxes/{sandboxID}/fork';

const OLDER_TIMEOUT_SECONDS = 15;
const TIMEOUT_SECONDS = 300;

const toForkResult = (
  outcome: PromiseSettledResult<SandboxRow>,
  context: ReplyContext,
): components['schemas']['ForkResult'] =>
  outcome.status === 'fulfilled'
    ? { sandbox: toSandbox(outcome.value, context) }
    : { error: toErrorBody(outcome.reason) };

/** Handlers that fork a running sandbox. */
export const createForkHandlers = (
  options: Pick<HandlerContext, 'forker' | 'maxRunMs' | 'maxSandboxes' | 'secret' | 'domain'>,
): Pick<PlatformHandlers, ForkRoute> => {
  const { forker, maxRunMs, maxSandboxes } = options;

  const fork = async (
    params: { sandboxID: string },
    { timeout, count = 1, kind }: { timeout: number; count?: number; kind: PauseKind },
    { keyId }: Caller,
  ): Promise<components['schemas']['ForkResult'][]> => {
    if (count > maxSandboxes) {
      throw invalid(`body.count must be at most ${maxSandboxes}, the concurrency limit, got ${count}`);
    }
    const request = { count, kind, keyId, timeoutMs: parseTimeout(timeout, maxRunMs) };
    const outcomes = await forker.fork(parseSandboxId(params), request);
    return outcomes.map((outcome) => toForkResult(outcome, options));
  };

  return {
    'POST /sandboxes/{sandboxID}/fork': async ({ params, body, context }) => ({
      status: 201,
      body: await fork(params, { timeout: OLDER_TIMEOUT_SECONDS, ...body, kind: 'memory' }, context),
    }),
    'POST /v2/sandboxes/{sandboxID}/fork': async ({ params, body, context }) => {
      const { memory = true, ...request } = body ?? {};
      const kind = memory ? 'memory' : 'filesystem';
      return {
        status: 201,
        body: await fork(params, { timeout: TIMEOUT_SECONDS, ...request, kind }, context),
      };
    },
  };
};
