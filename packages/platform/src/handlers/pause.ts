import { invalid } from '@skerry/contract/error';
import type { components } from '@skerry/platform-client';
import type { PauseKind } from '../store/rows.ts';
import { parseTimeout } from './new-sandbox.ts';
import type { HandlerContext, PlatformHandlers } from './platform-handlers.ts';
import { parseSandboxId } from './sandbox-id.ts';
import { toSandbox } from './sandbox-replies.ts';

type PauseRoute = 'POST /sandboxes/{sandboxID}/pause' | 'POST /sandboxes/{sandboxID}/resume';

const RESUME_TIMEOUT_SECONDS = 15;

/** What a pause keeps; memory and files by default. Throws `invalid_argument` for a contradiction. */
export const parsePauseKind = ({ memory, mode }: components['schemas']['PauseSandbox']): PauseKind => {
  if (memory !== undefined && mode !== undefined && memory !== (mode === 'full')) {
    throw invalid(`body.memory is ${memory}, which contradicts body.mode "${mode}"`);
  }
  return memory === false || mode === 'filesystem' ? 'filesystem' : 'memory';
};

/** Handlers that pause a sandbox, and resume it as early clients do. */
export const createPauseHandlers = (
  context: Pick<HandlerContext, 'pauser' | 'resumer' | 'maxRunMs' | 'secret' | 'domain'>,
): Pick<PlatformHandlers, PauseRoute> => {
  const { pauser, resumer, maxRunMs } = context;
  return {
    'POST /sandboxes/{sandboxID}/pause': async ({ params, body }) => {
      await pauser.pause(parseSandboxId(params), parsePauseKind(body ?? {}));
      return { status: 204 };
    },
    'POST /sandboxes/{sandboxID}/resume': async ({ params, body, context: { isForwarded } }) => {
      const { timeout, memory = true } = body ?? {};
      const timeoutMs = parseTimeout(timeout ?? RESUME_TIMEOUT_SECONDS, maxRunMs);
      const timeToLive = timeout === undefined ? ('default' as const) : ('requested' as const);
      const request = { timeoutMs, timeToLive, memory, isForwarded };
      return {
        status: 201,
        body: toSandbox(await resumer.resume(parseSandboxId(params), request), context),
      };
    },
  };
};
