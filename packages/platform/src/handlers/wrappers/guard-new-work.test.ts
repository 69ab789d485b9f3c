import { expect, it, onTestFinished } from 'vitest';
import { documentPaths } from '../../http/document.ts';
import { servePlatform } from '../../testing/serve-platform.ts';
import { BEGINNING } from './guard-new-work.ts';

/** What a server that is ending still does: it ends, moves or changes what there is, or looks at it. */
const finishing = new Set([
  'POST /sandboxes/{sandboxID}/connect',
  'POST /v2/sandboxes/{sandboxID}/connect',
  'POST /sandboxes/{sandboxID}/pause',
  'POST /sandboxes/{sandboxID}/timeout',
  'POST /sandboxes/{sandboxID}/refreshes',
  'POST /templates/tags',
  'POST /api-keys',
  'POST /skerry/v1/snapshots/{snapshotID}/verify',
  'POST /skerry/v1/system/prune',
  'POST /skerry/v1/nodes/{nodeName}/drain',
  'POST /skerry/v1/nodes/{nodeName}/cordon',
  'POST /skerry/v1/nodes/{nodeName}/uncordon',
]);
/** The body of this operation is no JSON: `serveImages` refuses it. */
const served = 'POST /skerry/v1/images';

it('covers each POST of the document', () => {
  const posts = Object.entries(documentPaths)
    .filter(([, item]) => 'post' in item && !('servers' in item))
    .map(([path]) => `POST ${path}`);
  const known = new Set<string>([...BEGINNING, ...finishing, served]);
  expect(posts.filter((route) => !known.has(route))).toEqual([]);
});

it('refuses to begin work while it drains, before anything happens, and serves the rest', async () => {
  const { platform, baseUrl, apiKey, close } = await servePlatform();
  onTestFinished(close);
  const call = async (method: string, path: string, body?: object) => {
    const headers = { 'x-api-key': apiKey, ...(body && { 'content-type': 'application/json' }) };
    const answer = await fetch(`${baseUrl}${path}`, {
      method,
      headers,
      ...(body && { body: JSON.stringify(body) }),
    });
    return {
      status: answer.status,
      retryAfter: answer.headers.get('retry-after'),
      body: await answer.json(),
    };
  };
  const made = await call('POST', '/v2/sandboxes', { templateID: 'base' });
  expect(made.status).toBe(201);
  const { sandboxID } = made.body as { sandboxID: string };
  platform.refuseNewWork();
  const refused = {
    status: 503,
    retryAfter: '1',
    body: { code: 503, message: 'the server is shutting down', error_code: 'server_shutting_down' },
  };
  expect(await call('POST', '/sandboxes', { templateID: 'base' })).toEqual(refused);
  expect(await call('POST', `/sandboxes/${sandboxID}/fork`, {})).toEqual(refused);
  expect(await call('POST', '/v3/templates', { name: 'web' })).toEqual(refused);
  expect(await call('POST', '/skerry/v1/images?name=web')).toEqual(refused);
  // Known to run: it is reached, and not resumed.
  const { status } = await call('POST', `/sandboxes/${sandboxID}/connect`, { timeout: 60 });
  expect(status).toBe(200);
  expect(((await call('GET', '/sandboxes')).body as unknown[]).length).toBe(1);
  expect(((await call('GET', '/templates')).body as { aliases: string[] }[]).length).toBe(1);
});
