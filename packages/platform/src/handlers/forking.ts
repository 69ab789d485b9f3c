import { invalid, toErrorBody } from '@skerry/contract/error';
import type { components } from '@skerry/platform-client';
import type { SandboxRow } from '../store/rows.ts';
import { parseTimeout } from './new-sandbox.ts';
import type { HandlerContext, PlatformHandlers } from './platform-handlers.ts';
import { parseSandboxId } from './sandbox-id.ts';
import { type ReplyContext, toSandbox } from './sandbox-replies.ts';

const TIMEOUT_SECONDS = 15;

const toForkResult = (
  outcome: PromiseSettledResult<SandboxRow>,
  context: ReplyContext,
): components['schemas']['ForkResult'] =>
  outcome.status === 'fulfilled'
    ? { sandbox: toSandbox(outcome.value, context) }
    : { error: toErrorBody(outcome.reason) };

/** The handler that forks a running sandbox. */
export const createForkHandlers = (
  context: Pick<HandlerContext, 'forking' | 'maxRunMs' | 'maxSandboxes' | 'secret' | 'domain'>,
): Pick<PlatformHandlers, 'POST /sandboxes/{sandboxID}/fork'> => {
  const { forking, maxRunMs, maxSandboxes } = context;
  return {
    'POST /sandboxes/{sandboxID}/fork': async ({ params, body }) => {
      const { timeout = TIMEOUT_SECONDS, count = 1 } = body ?? {};
      if (count > maxSandboxes) {
        throw invalid(`body.count must be at most ${maxSandboxes}, the concurrency limit, got ${count}`);
      }
      const request = { count, timeoutMs: parseTimeout(timeout, maxRunMs) };
      const outcomes = await forking.fork(parseSandboxId(params), request);
      return { status: 201, body: outcomes.map((outcome) => toForkResult(outcome, context)) };
    },
  };
};
