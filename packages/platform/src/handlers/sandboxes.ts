import { chooseIsolation } from '../sandboxes/create/choose-isolation.ts';
import { keptAt } from '../sandboxes/kept-at.ts';
import { requireMemory, requirePause } from '../sandboxes/pause-error.ts';
import { toOwnProject } from '../store/scope.ts';
import { parseNewSandbox, parseTimeout } from './new-sandbox.ts';
import type { Caller, HandlerContext, PlatformHandlers } from './platform-handlers.ts';
import { parseSandboxId } from './sandbox-id.ts';
import { toSandbox, toSandboxDetail } from './sandbox-replies.ts';
import { requireTemplateState } from './templates/find-template.ts';

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

interface CreateDefaults {
  timeoutSeconds: number;
  secure: boolean;
  signal: AbortSignal;
  context: Caller;
}

const DEFAULT_TIMEOUT_SECONDS = { v1: 15, v2: 300 };
const MIN_REFRESH_SECONDS = 15;

/** Handlers that create, find and end one sandbox. */
export const createSandboxHandlers = (context: HandlerContext): Pick<PlatformHandlers, SandboxRoute> => {
  const {
    store,
    newWork,
    creator,
    lifecycle,
    timeToLive,
    resumer,
    waker,
    features,
    maxRunMs,
    secureByDefault,
  } = context;

  const create = async (
    body: CreateBody,
    { signal, context: { isForwarded, scope, keyId }, ...defaults }: CreateDefaults,
  ) => {
    const request = parseNewSandbox(body, { ...defaults, maxRunMs, nameRules: features.nameRules });
    const origin = await requireTemplateState({ store, scope }, body.templateID);
    const isolation = chooseIsolation(request.isolation, { features, ...origin });
    const kept = keptAt(features, isolation);
    if (request.autoPause !== null) requirePause(kept, request.autoPause, 'body.autoPauseMemory');
    if (request.autoResume) requireMemory(kept, 'body.autoResume.enabled');
    const row = await creator.create({
      ...{ ...request, ...origin, isolation, signal, isForwarded },
      project: toOwnProject(scope),
      keyId,
    });
    return { status: 201, body: toSandbox(row, context) } as const;
  };

  const connect = async (
    params: { sandboxID: string },
    body: { timeout?: number; memory?: boolean },
    { isForwarded, isServer }: Caller,
  ) => {
    const id = parseSandboxId(params);
    if ((await store.findSandbox(id))?.state !== 'running') newWork.require({ isForwarded });
    // Another server asks for what traffic there needs.
    if (isServer && body.timeout === undefined) {
      await waker.wake(id, { isForwarded });
      return { status: 200, body: toSandbox(await lifecycle.get(id), context) } as const;
    }
    const named = isServer ? 'remaining' : 'requested';
    const { row, wasPaused } = await resumer.connect(id, {
      timeoutMs: parseTimeout(body.timeout ?? DEFAULT_TIMEOUT_SECONDS.v2, maxRunMs),
      timeToLive: body.timeout === undefined ? 'default' : named,
      memory: body.memory ?? true,
      isForwarded,
    });
    return { status: wasPaused ? 201 : 200, body: toSandbox(row, context) } as const;
  };

  return {
    'POST /sandboxes': ({ body, signal, context }) =>
      create(body, { timeoutSeconds: DEFAULT_TIMEOUT_SECONDS.v1, secure: secureByDefault, signal, context }),
    'POST /v2/sandboxes': ({ body, signal, context }) =>
      create(body, { timeoutSeconds: DEFAULT_TIMEOUT_SECONDS.v2, secure: true, signal, context }),
    'GET /sandboxes/{sandboxID}': async ({ params, context: { scope } }) => ({
      status: 200,
      body: toSandboxDetail(await lifecycle.get(parseSandboxId(params)), { ...context, scope }),
    }),
    'DELETE /sandboxes/{sandboxID}': async ({ params }) => {
      await lifecycle.kill(parseSandboxId(params));
      return { status: 204 };
    },
    'POST /sandboxes/{sandboxID}/connect': ({ params, body, context }) => connect(params, body, context),
    'POST /v2/sandboxes/{sandboxID}/connect': ({ params, body, context }) =>
      connect(params, body ?? {}, context),
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
