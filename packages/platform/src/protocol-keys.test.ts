import { createPlatformClient } from '@skerry/platform-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { documentPaths, type JsonSchema, readOperation } from './http/document.ts';
import { type ServedPlatform, servePlatform } from './testing/serve-platform.ts';

const createKeys = [
  ...['templateID', 'timeout', 'metadata', 'envVars', 'secure', 'allow_internet_access', 'network'],
  ...[
    'autoPause',
    'autoPauseMemory',
    'autoResume',
    'autoResume.enabled',
    'volumeMounts',
    'iam',
    'iam.tokens',
  ],
  ...['volumeMounts.name', 'volumeMounts.path', 'mcp', 'sidecars'],
  ...['network.allowPublicTraffic', 'network.allowOut', 'network.denyOut', 'network.maskRequestHost'],
  ...['network.httpsPorts', 'network.rules', 'network.egressProxy', 'network.egressProxy.address'],
  ...['network.egressProxy.username', 'network.egressProxy.password', 'network.egressProxy.tls'],
  ...['enabled', 'serverName', 'caCert'].map((key) => `network.egressProxy.tls.${key}`),
];
const registryKeys = [
  ...['type', 'username', 'password', 'serviceAccountJson'],
  ...['awsAccessKeyId', 'awsSecretAccessKey', 'awsRegion'],
];

/** The keys that the protocol has in the body of each request. */
const protocolKeys: Record<string, string[]> = {
  'POST /sandboxes': createKeys,
  'POST /v2/sandboxes': createKeys,
  'POST /sandboxes/{sandboxID}/connect': ['timeout', 'memory'],
  'POST /v2/sandboxes/{sandboxID}/connect': ['timeout', 'memory'],
  'POST /sandboxes/{sandboxID}/resume': ['timeout', 'autoPause', 'memory'],
  'POST /sandboxes/{sandboxID}/pause': ['memory', 'mode'],
  'POST /sandboxes/{sandboxID}/timeout': ['timeout'],
  'POST /sandboxes/{sandboxID}/refreshes': ['duration'],
  'POST /sandboxes/{sandboxID}/fork': ['timeout', 'count'],
  'POST /v2/sandboxes/{sandboxID}/fork': ['timeout', 'count', 'memory'],
  'POST /sandboxes/{sandboxID}/snapshots': ['name', 'memory', 'mode'],
  'PUT /sandboxes/{sandboxID}/network': [
    ...['allowOut', 'denyOut', 'egressProxy', 'rules', 'allow_internet_access'],
  ],
  'POST /v3/templates': ['name', 'tags', 'cpuCount', 'memoryMB', 'minFreeDiskMb', 'alias', 'teamID'],
  'POST /v2/templates': ['alias', 'cpuCount', 'memoryMB'],
  'POST /v2/templates/{templateID}/builds/{buildID}': [
    ...['fromImage', 'fromTemplate', 'fromImageRegistry', 'force', 'steps', 'startCmd', 'readyCmd'],
    ...['type', 'args', 'force', 'filesHash'].map((key) => `steps.${key}`),
    ...registryKeys.map((key) => `fromImageRegistry.${key}`),
  ],
  'POST /api-keys': ['name'],
  'PATCH /api-keys/{apiKeyID}': ['name'],
  'POST /templates/tags': ['target', 'tags'],
  'DELETE /templates/tags': ['name', 'tags'],
  'PATCH /templates/{templateID}': ['public'],
  'PATCH /v2/templates/{templateID}': ['public'],
};

const isSchema = (value: unknown): value is JsonSchema => typeof value === 'object' && value !== null;

interface NamedKey {
  key: string;
  schema: JsonSchema;
}

/** All keys of a schema and of what is in it, with dots. */
const keysOf = (schema: JsonSchema, prefix = ''): NamedKey[] => [
  ...Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>).flatMap(([key, value]) => [
    { key: `${prefix}${key}`, schema: value },
    ...keysOf(value, `${prefix}${key}.`),
  ]),
  ...(['allOf', 'anyOf', 'oneOf'] as const).flatMap((name) =>
    ((schema[name] ?? []) as JsonSchema[]).flatMap((part) => keysOf(part, prefix)),
  ),
  ...(isSchema(schema.items) ? keysOf(schema.items, prefix) : []),
];

const keysOfBody = (operation: string): NamedKey[] => keysOf(readOperation(operation).body?.schema ?? {});

describe('the document names the keys that the protocol has in the body of', () => {
  it.each(Object.entries(protocolKeys))('%s', (operation, keys) => {
    expect(keysOfBody(operation).map(({ key }) => key)).toEqual(expect.arrayContaining(keys));
  });

  it('each operation of the protocol with a body', () => {
    const withBody = Object.entries(documentPaths)
      .filter(([path, item]) => !path.startsWith('/skerry/') && !('servers' in item))
      .flatMap(([path, item]) =>
        (['post', 'put', 'patch', 'delete'] as const)
          .filter((method) => item[method]?.requestBody !== undefined)
          .map((method) => `${method.toUpperCase()} ${path}`),
      );
    expect(Object.keys(protocolKeys).toSorted()).toEqual(withBody.toSorted());
  });
});

const transform = { headers: { 'X-Key': 'value' } };
/** What asks for each feature that this server lacks, by the key that the refusal names. */
const unsupported = {
  volumeMounts: { volumeMounts: [{ name: 'data', path: '/data' }] },
  iam: { iam: { tokens: { one: { audience: 'a', tokenType: 'JWT-SVID' } } } },
  mcp: { mcp: { browserbase: {} } },
  sidecars: { sidecars: [{ image: 'redis' }] },
  'network.egressProxy': { network: { egressProxy: { address: 'proxy:1080' } } },
  'network.rules': { network: { rules: { 'api.example.com': [{ transform }] } } },
};
const unsupportedUpdates = {
  egressProxy: { egressProxy: { address: 'proxy:1080' } },
  rules: { rules: { 'api.example.com': [{ transform }] } },
};

describe('a known key whose feature is missing is refused with 400 and its name', () => {
  let served: ServedPlatform;
  beforeAll(async () => {
    served = await servePlatform();
  });
  afterAll(() => served.close());

  for (const path of ['/sandboxes', '/v2/sandboxes'] as const) {
    it.each(Object.entries(unsupported))(`POST ${path}: %s`, async (key, body) => {
      const { error } = await createPlatformClient(served).POST(path, {
        body: { templateID: 'base', ...body },
      });
      expect(error).toEqual({ code: 400, message: `body.${key}: not supported by this server` });
    });

    it(`POST ${path}: each key that the document says is refused`, () => {
      const planned = keysOfBody(`POST ${path}`).filter(
        ({ schema }) => schema['x-skerry-status'] === 'planned',
      );
      expect(Object.keys(unsupported)).toEqual(expect.arrayContaining(planned.map(({ key }) => key)));
      expect(planned.length).toBeGreaterThan(0);
    });
  }

  it.each(Object.entries(unsupportedUpdates))('PUT /sandboxes/{sandboxID}/network: %s', async (key, body) => {
    const { error } = await createPlatformClient(served).PUT('/sandboxes/{sandboxID}/network', {
      params: { path: { sandboxID: 'i0f9e8d7c6b5a4f3e2d1c' } },
      body,
    });
    expect(error).toEqual({ code: 400, message: `body.${key}: not supported by this server` });
  });
});
