import { invalid, notFound } from '@skerry/contract/error';
import type { components } from '@skerry/platform-client';
import { KEY_SHAPE, makeApiKey, toApiKeyRow } from '../../api-key.ts';
import type { ApiKeyRow } from '../../store/api-keys/api-key-row.ts';
import type { KeyLimits } from '../../store/quotas/quota-rows.ts';
import { DEFAULT_PROJECT } from '../../store/scope.ts';
import type { HandlerContext, PlatformHandlers } from '../platform-handlers.ts';

type ApiKeyRoute =
  | 'GET /api-keys'
  | 'POST /api-keys'
  | 'PATCH /api-keys/{apiKeyID}'
  | 'DELETE /api-keys/{apiKeyID}';

/** Handlers that create, list, rename and revoke API keys. */
export const createApiKeyHandlers = ({
  store,
  clock,
}: Pick<HandlerContext, 'store' | 'clock'>): Pick<PlatformHandlers, ApiKeyRoute> => ({
  'GET /api-keys': async () => ({ status: 200, body: (await store.listApiKeys()).map(toApiKey) }),
  'POST /api-keys': async ({ body: { name, project = null, readOnly = false, limits = {} } }) => {
    // Every project finds the names of this one.
    if (project === DEFAULT_PROJECT)
      throw invalid(`body.project: "${DEFAULT_PROJECT}" is the project of keys that are limited to none`);
    const key = makeApiKey();
    const row = toApiKeyRow(key, {
      name,
      project,
      readOnly,
      limits: fromWire(limits),
      createdAt: clock.now(),
    });
    await store.addApiKey(row);
    return { status: 201, body: { ...toApiKey({ ...row, lastUsedAt: null }), key } };
  },
  'PATCH /api-keys/{apiKeyID}': async ({ params: { apiKeyID }, body: { name, limits } }) => {
    const change = { ...(name !== undefined && { name }), ...(limits && { limits: fromWire(limits) }) };
    if (!(await store.changeApiKey(apiKeyID, change))) throw unknownKey(apiKeyID);
    return { status: 200, body: {} };
  },
  'DELETE /api-keys/{apiKeyID}': async ({ params: { apiKeyID }, context: { keyId } }) => {
    if (apiKeyID === keyId)
      throw invalid('path.apiKeyID: this is the key of the call itself; revoke it with another key');
    if (!(await store.revokeApiKey(apiKeyID, clock.now()))) throw unknownKey(apiKeyID);
    return { status: 204 };
  },
});

const fromWire = ({ memoryMB, ...limits }: components['schemas']['KeyLimits']): KeyLimits => ({
  ...limits,
  ...(memoryMB !== undefined && { memoryMb: memoryMB }),
});

const toWire = ({ memoryMb, ...limits }: KeyLimits): components['schemas']['KeyLimits'] => ({
  ...limits,
  ...(memoryMb !== undefined && { memoryMB: memoryMb }),
});

const unknownKey = (id: string) => notFound(`API key "${id}" was not found`);

const toApiKey = (row: Omit<ApiKeyRow, 'revokedAt'>): components['schemas']['ApiKey'] => ({
  id: row.id,
  name: row.name,
  project: row.project,
  readOnly: row.readOnly,
  limits: toWire(row.limits),
  mask: {
    ...KEY_SHAPE,
    maskedValuePrefix: row.firstCharacters,
    maskedValueSuffix: row.lastCharacters,
  },
  createdAt: new Date(row.createdAt).toISOString(),
  createdBy: null,
  lastUsed: row.lastUsedAt === null ? null : new Date(row.lastUsedAt).toISOString(),
});
