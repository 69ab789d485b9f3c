import { parseNewSandbox, parseTimeout } from './new-sandbox.ts';
import type { HandlerContext, PlatformHandlers } from './platform-handlers.ts';
import { toSandbox, toSandboxDetail } from './sandbox-replies.ts';
import { requireTemplate } from './template-reference.ts';

type SandboxRoute =
  | 'POST /sandboxes'
  | 'POST /v2/sandboxes'
  | 'GET /sandboxes/{sandboxID}'
  | 'DELETE /sandboxes/{sandboxID}'
  | 'POST /sandboxes/{sandboxID}/connect'
  | 'POST /v2/sandboxes/{sandboxID}/connect'
  | 'POST /sandboxes/{sandboxID}/timeout'
  | 'POST /sandboxes/{sandboxID}/refreshes';

type CreateBody = Parameters<PlatformHandlers['POST /sandboxes' | 'POST /v2/sandboxes']>[0]['body'];

const DEFAULT_TIMEOUT_SECONDS = { v1: 15, v2: 300 };
const MIN_REFRESH_SECONDS = 15;

/** Older programs write `{sandboxID}-{clientID}`. */
const parseSandboxId = ({ sandboxID }: { sandboxID: string }): string => sandboxID.replace(/-.*$/, '');

/** Creating, finding and ending one sandbox. */
export const createSandboxHandlers = (context: HandlerContext): Pick<PlatformHandlers, SandboxRoute> => {
  const { store, lifecycle, timeToLive, maxRunMs } = context;

  const create = async (body: CreateBody, timeoutSeconds: number) => {
    const request = parseNewSandbox(body, { timeoutSeconds, maxRunMs });
    const template = await requireTemplate(store, body.templateID);
    const row = await lifecycle.create({ ...request, template });
    return { status: 201, body: toSandbox(row, context) } as const;
  };

  const connect = async (params: { sandboxID: string }, timeoutSeconds: number) => {
    const row = await timeToLive.extend(parseSandboxId(params), parseTimeout(timeoutSeconds, maxRunMs));
    return { status: 200, body: toSandbox(row, context) } as const;
  };

  return {
    'POST /sandboxes': ({ body }) => create(body, DEFAULT_TIMEOUT_SECONDS.v1),
    'POST /v2/sandboxes': ({ body }) => create(body, DEFAULT_TIMEOUT_SECONDS.v2),
    'GET /sandboxes/{sandboxID}': async ({ params }) => ({
      status: 200,
      body: toSandboxDetail(await lifecycle.get(parseSandboxId(params)), context),
    }),
    'DELETE /sandboxes/{sandboxID}': async ({ params }) => {
      await lifecycle.kill(parseSandboxId(params));
      return { status: 204 };
    },
    'POST /sandboxes/{sandboxID}/connect': ({ params, body }) => connect(params, body.timeout),
    'POST /v2/sandboxes/{sandboxID}/connect': ({ params, body }) =>
      connect(params, body?.timeout ?? DEFAULT_TIMEOUT_SECONDS.v2),
    'POST /sandboxes/{sandboxID}/timeout': async ({ params, body }) => {
      await timeToLive.set(parseSandboxId(params), body.timeout * 1000);
      return { status: 204 };
    },
    'POST /sandboxes/{sandboxID}/refreshes': async ({ params, body }) => {
      const seconds = Math.max(body?.duration ?? MIN_REFRESH_SECONDS, MIN_REFRESH_SECONDS);
      await timeToLive.extend(parseSandboxId(params), seconds * 1000);
      return { status: 204 };
    },
  };
};
