import { createPlatformClient } from '@skerry/platform-client';
import { CommandExitError, Sandbox, type SandboxError } from '@skerry/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { joinStack, type SharedStack } from '../stack/shared-stack.ts';
import type { StackSandbox } from '../stack/stack-client.ts';
import { findAgentProcess } from './agent-process.ts';

let stack: SharedStack;
let sandbox: StackSandbox;
beforeAll(async () => {
  stack = await joinStack();
  sandbox = await stack.createSandbox({ timeoutSeconds: 300 });
});
afterAll(() => stack.leave());

type Fetch = typeof globalThis.fetch;
type Change = (response: Response, text: string) => { body: string | null; headers?: Record<string, string> };

/** What a proxy in front of the service makes of answers: the status stays, the body is another. */
const changing =
  (change: Change, isMeant: (response: Response) => boolean): Fetch =>
  async (input, init) => {
    const response = await fetch(input, init);
    if (!isMeant(response)) return response;
    const { body, headers } = change(response, await response.text());
    return new Response(body, { status: response.status, ...(headers && { headers }) });
  };
const isError = ({ status }: Response): boolean => status >= 400;
const isJson = ({ headers }: Response): boolean => headers.get('content-type') === 'application/json';
const errorOf = async (call: Promise<unknown>): Promise<SandboxError> =>
  call.then(
    () => Promise.reject(new Error('there was no error')),
    (error: SandboxError) => error,
  );

describe('the typed clients', () => {
  const proxies: [string, Change][] = [
    ['empty', () => ({ body: null })],
    ['the page of a proxy', () => ({ body: '<html>sorry</html>', headers: { 'content-type': 'text/html' } })],
    ['JSON that is none', () => ({ body: '{"code":', headers: { 'content-type': 'application/json' } })],
    [
      'JSON of another API',
      () => ({ body: '{"code":"E17","error":[]}', headers: { 'content-type': 'application/json' } }),
    ],
    [
      'of another code',
      () => ({ body: '{"code":200,"message":"ok"}', headers: { 'content-type': 'application/json' } }),
    ],
  ];

  it.each(proxies)('rule 8.5-1: decide by the status where the body is %s', async (_what, change) => {
    const connection = { ...stack.connection, fetch: changing(change, isError) };
    const { sandboxId } = sandbox;
    const sdk = await Sandbox.connect(sandboxId, connection);
    expect(await errorOf(sdk.files.read('/no/such'))).toMatchObject({ code: 'not_found' });
    expect(await errorOf(sdk.files.read('/etc'))).toMatchObject({ code: 'invalid_argument' });
    expect(await errorOf(sdk.files.read('/x', { user: 'ghost' }))).toMatchObject({ code: 'unauthenticated' });
    const missing = Sandbox.connect('inosuchsandbox0000000', connection);
    expect(await errorOf(missing)).toMatchObject({ code: 'not_found' });
    expect(await Sandbox.kill('inosuchsandbox0000000', connection)).toBe(false);
    const stranger = Sandbox.connect(sandboxId, { ...connection, apiKey: `e2b_${'0'.repeat(40)}` });
    expect(await errorOf(stranger)).toMatchObject({ code: 'unauthenticated' });
    expect(await sdk.files.exists('/etc/hostname')).toBe(true);
  });

  it('rule 8.5-1: decide by the body where the status leaves it open', async () => {
    const { sandboxId, kill } = await stack.createSandbox();
    const sdk = await Sandbox.connect(sandboxId, stack.connection);
    const nameless = { ...stack.connection, fetch: changing(() => ({ body: null }), isError) };
    const blind = await Sandbox.connect(sandboxId, nameless);
    await kill();
    // 502 is a sandbox that has ended only when it names the sandbox.
    expect(await errorOf(sdk.files.read('/etc/hostname'))).toMatchObject({ code: 'sandbox_unavailable' });
    expect(await errorOf(blind.files.read('/etc/hostname'))).toMatchObject({ code: 'unavailable' });
  });

  it('rule 8.5-2, 10-37: take a size as a number and as text, and fields that they do not know', async () => {
    const plain = await Sandbox.connect(sandbox.sandboxId, stack.connection);
    await plain.files.write('/tmp/sized/a', 'x'.repeat(1234));
    const later = (_response: Response, text: string) => ({
      body: text
        .replace(/"size":(\d+)/g, '"size":"$1"')
        .replaceAll('{"name"', '{"inventedTomorrow":{"deep":[1]},"name"')
        .replace(/^\{/, '{"also":null,'),
      headers: { 'content-type': 'application/json' },
    });
    let changed = 0;
    const connection = {
      ...stack.connection,
      fetch: changing(
        (response, text) => {
          changed += text.includes('"size":') ? 1 : 0;
          return later(response, text);
        },
        (response) => !isError(response) && isJson(response) && response.url.includes('.Filesystem/'),
      ),
    };
    const sdk = await Sandbox.connect(sandbox.sandboxId, connection);
    expect(await sdk.files.getInfo('/tmp/sized/a')).toEqual(await plain.files.getInfo('/tmp/sized/a'));
    expect(await sdk.files.list('/tmp/sized')).toEqual(await plain.files.list('/tmp/sized'));
    expect((await sdk.files.getInfo('/tmp/sized/a')).sizeBytes).toBe(1234);
    expect(changed).toBe(3);
  });

  it('rule 8.5-3: send only what the user set', async () => {
    const sent: [string, unknown][] = [];
    const listening: Fetch = async (input, init) => {
      const request = new Request(input, init);
      const text = await request.clone().text();
      sent.push([
        `${request.method} ${new URL(request.url).pathname}`,
        text === '' ? undefined : JSON.parse(text),
      ]);
      return fetch(request);
    };
    const sdk = await Sandbox.create({ ...stack.connection, fetch: listening });
    expect(sent).toEqual([['POST /v2/sandboxes', { templateID: 'base' }]]);
    sent.length = 0;
    await Sandbox.connect(sdk.sandboxId, { ...stack.connection, fetch: listening });
    expect(sent).toMatchObject([[`POST /v2/sandboxes/${sdk.sandboxId}/connect`, {}]]);
    expect(Object.keys((sent[0]?.[1] ?? {}) as object)).toEqual([]);
    sent.length = 0;
    await sdk.kill();
    const named = await Sandbox.create({ ...stack.connection, fetch: listening, metadata: { a: 'b' } });
    expect(sent.at(-1)).toEqual(['POST /v2/sandboxes', { templateID: 'base', metadata: { a: 'b' } }]);
    await named.kill();
    const platform = createPlatformClient({
      baseUrl: stack.address.apiUrl,
      apiKey: stack.address.apiKey,
      fetch: (request) => {
        sent.push([new URL(request.url).search, undefined]);
        return fetch(request);
      },
    });
    await platform.GET('/v2/sandboxes');
    expect(sent.at(-1)).toEqual(['', undefined]);
  });

  it('rule 8.5-4: release each connection once, also those of streams that are not read to the end', async () => {
    const sdk = await Sandbox.connect(sandbox.sandboxId, stack.connection);
    await sdk.commands.run('truncate -s 200M /tmp/vast');
    const agent = findAgentProcess(sandbox.sandboxId);
    const before = agent.countSockets();
    for (let index = 0; index < 10; index += 1) {
      const stream = await sdk.files.read('/tmp/vast', { format: 'stream' });
      const reader = stream.getReader();
      await reader.read();
      await reader.cancel();
      const watch = await sdk.files.watchDir('/tmp');
      watch.stop();
      watch.stop();
      const command = await sdk.commands.run('yes', { background: true });
      await command.kill();
      await expect(command.wait()).rejects.toThrow(CommandExitError);
      command.disconnect();
    }
    // What is kept for the next call is not counted.
    await expect.poll(() => agent.countSockets()).toBeLessThanOrEqual(before + 3);
  });
});
