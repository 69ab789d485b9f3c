import { readFileSync } from 'node:fs';
import { createSignature } from '@skerry/envd-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { fetchByHost, type HostRequest } from '../stack/fetch-by-host.ts';
import { joinStack, type SharedStack } from '../stack/shared-stack.ts';
import type { StackSandbox } from '../stack/stack-client.ts';

type Content = Record<string, { examples: Record<string, { value: unknown }> } | undefined>;

const { components } = parse(
  readFileSync(new URL('../../../../specs/openapi.yaml', import.meta.url), 'utf8'),
) as { components: { responses: Record<string, { content: Content }> } };

/** The sandbox of the examples. */
const EXAMPLE_ID = 'i4k2m9x7q1w8e3r5t6y0z';

let stack: SharedStack;
let sandbox: StackSandbox;
beforeAll(async () => {
  stack = await joinStack();
  sandbox = await stack.createSandbox();
  const body = new FormData();
  body.append('file', new Blob(['12345']), 'home/user/notes/today.txt');
  await sandbox.agent.files.POST('/files', {
    params: { query: { path: '/home/user/notes/today.txt' } },
    body: body as never,
    bodySerializer: (form: unknown) => form as FormData,
  });
});
afterAll(() => stack.leave());

const askPlatform = (path: string, { headers, ...options }: HostRequest = {}) =>
  fetchByHost(stack.address.apiUrl + path, {
    ...options,
    headers: { 'x-api-key': stack.address.apiKey, 'content-type': 'application/json', ...headers },
  });
const askAgent = (path: string, { headers, ...options }: HostRequest = {}) =>
  fetchByHost(`http://49983-${sandbox.sandboxId}.${stack.address.domain}${path}`, {
    ...options,
    headers: { 'x-access-token': sandbox.accessToken, ...headers },
  });
const create = (body: object) =>
  askPlatform('/v2/sandboxes', { method: 'POST', body: JSON.stringify({ templateID: 'base', ...body }) });

/** Each example of an error that a caller can bring about, and how. */
const causes: Record<string, () => ReturnType<typeof askPlatform>> = {
  'BadRequest outOfRange': () => create({ timeout: 0 }),
  'Unauthorized missing': () => askPlatform('/sandboxes', { headers: { 'x-api-key': '' } }),
  'NotFound unknown': () => askPlatform(`/sandboxes/${EXAMPLE_ID}`),
  'BadSandboxHost port': () =>
    fetchByHost(`${stack.address.apiUrl}/health`, { host: `99999-${EXAMPLE_ID}.localhost` }),
  'BadPath port': () =>
    fetchByHost(`${stack.address.apiUrl}/files`, { host: `99999-${EXAMPLE_ID}.localhost` }),
  'BadPath directory': () => askAgent('/files?path=/home/user'),
  'FileAccessDenied expired': async () => {
    const { accessToken, sandboxId } = sandbox;
    const link = { path: 'a', operation: 'read' as const, user: '', accessToken, expiresAt: 1 };
    const query = new URLSearchParams({
      path: 'a',
      signature: await createSignature(link),
      signature_expiration: '1',
    });
    return fetchByHost(`http://49983-${sandboxId}.${stack.address.domain}/files?${query}`);
  },
  'FileAccessDenied user': () => askAgent('/files?path=a&username=no-such-user'),
  'FileNotFound missing': () => askAgent('/files?path=missing.txt'),
  'NotAcceptable brotli': () =>
    askAgent('/files?path=notes/today.txt', { headers: { 'accept-encoding': 'br, identity;q=0' } }),
  'PreconditionFailed changed': () =>
    askAgent('/files?path=notes/today.txt', { headers: { 'if-match': '"other"' } }),
  'RangeNotSatisfiable beyond': () =>
    askAgent('/files?path=notes/today.txt', { headers: { range: 'bytes=10-' } }),
  'SandboxNotFound notFound': () => fetchByHost(`http://49983-${EXAMPLE_ID}.${stack.address.domain}/health`),
  'SandboxNotFound closedPort': () =>
    fetchByHost(`http://8080-${sandbox.sandboxId}.${stack.address.domain}/`),
};

describe('the examples of errors in the document', () => {
  it.each(Object.entries(causes))('are what the server answers: %s', async (name, cause) => {
    const [response = '', example = ''] = name.split(' ');
    const content = components.responses[response]?.content ?? {};
    const { headers, text } = await cause();
    const [type = ''] = (headers['content-type'] ?? '').split(';');
    const documented = content[type]?.examples[example]?.value;
    const answered = text.replaceAll(sandbox.sandboxId, EXAMPLE_ID);
    expect(type === 'application/json' ? JSON.parse(answered) : answered.trim()).toEqual(documented);
  });
});
