import { Sandbox } from '@skerry/sdk';
import * as official from 'e2b-newest';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Stack, startStack } from '../stack/stack.ts';
import { createPlatformCall, type PlatformAnswer } from './platform-calls.ts';

let stack: Stack;
beforeAll(async () => {
  stack = await startStack();
});
afterAll(() => stack.down());

const call = createPlatformCall(() => stack);
const errorOf = ({ status, json }: PlatformAnswer) => ({ status, body: json });
/** What every error of this status looks like. */
const anError = (status: number) => ({ status, body: { code: status, message: expect.stringMatching(/./) } });
const gone = 'inosuchsandbox0000000';

describe('the body of an error', () => {
  it.each([
    ['POST /v2/sandboxes', '{"templateID":"base","timeout":-1}', 400],
    ['POST /v2/sandboxes', '{', 400],
    ['POST /v2/sandboxes', undefined, 400],
    ['POST /v2/sandboxes', '{"templateID":"no-such-template"}', 404],
    ['GET /v2/sandboxes?limit=0', undefined, 400],
    ['GET /sandboxes?metadata=a', undefined, 400],
    ['GET /sandboxes/%E0%A4%A', undefined, 400],
    [`GET /sandboxes/${gone}`, undefined, 404],
    [`POST /sandboxes/${gone}/refreshes`, '{}', 404],
    ['GET /nowhere', undefined, 404],
    ['PATCH /sandboxes', '{}', 405],
    ['PUT /health', '{}', 404],
  ])(
    'rule 8.1-1, 5.1-8: of %s %s is a code equal to the status and a message',
    async (route, body, status) => {
      const answer = await call(route, body === undefined ? {} : { body });
      expect(errorOf(answer)).toEqual(anError(status));
    },
  );

  it.each([
    ['missing', null],
    ['empty', ''],
    ['malformed', 'secret'],
    ['unknown', `e2b_${'0'.repeat(40)}`],
    ['of another alphabet', `e2b_${'G'.repeat(40)}`],
    ['too long', `e2b_${'0'.repeat(4000)}`],
  ])('rule 8.1-3: is JSON for a key that is %s, on every route that needs one', async (_what, key) => {
    for (const route of [
      'GET /sandboxes',
      'GET /v2/sandboxes',
      'GET /templates',
      `GET /sandboxes/${gone}`,
      `DELETE /sandboxes/${gone}`,
    ])
      expect(errorOf(await call(route, { key })), route).toEqual(anError(401));
    expect(errorOf(await call('POST /v2/sandboxes', { key, body: '{"templateID":"base"}' }))).toEqual(
      anError(401),
    );
  });
});

describe('the health of the platform', () => {
  it('rule 8.1-3: needs no key', async () => {
    expect((await call('GET /health', { key: null })).status).toBe(200);
  });
});

describe('a sandbox in another state', () => {
  it('rule 8.1-2: that is gone answers code 404 to everything that is asked of it', async () => {
    const { sandboxId, kill } = await stack.createSandbox();
    await kill();
    for (const [route, body] of [
      [`GET /sandboxes/${sandboxId}`],
      [`DELETE /sandboxes/${sandboxId}`],
      [`POST /sandboxes/${sandboxId}/pause`, '{"memory":false}'],
      [`POST /sandboxes/${sandboxId}/timeout`, '{"timeout":60}'],
      [`POST /sandboxes/${sandboxId}/connect`, '{"timeout":60}'],
      [`POST /v2/sandboxes/${sandboxId}/connect`, '{}'],
      [`POST /sandboxes/${sandboxId}/resume`, '{}'],
    ] as const)
      expect(errorOf(await call(route, body === undefined ? {} : { body })), route).toEqual(anError(404));
  });

  it('rule 8.1-2: that is paused answers code 409 to a pause and 404 to a timeout, a running one 409 to a resume', async () => {
    const { sandboxId, kill } = await stack.createSandbox();
    const resume = `POST /sandboxes/${sandboxId}/resume`;
    expect(errorOf(await call(resume, { body: '{"timeout":60}' }))).toEqual(anError(409));
    const pause = () => call(`POST /sandboxes/${sandboxId}/pause`, { body: '{"memory":false}' });
    expect((await pause()).status).toBe(204);
    expect(errorOf(await pause())).toEqual(anError(409));
    const timeout = await call(`POST /sandboxes/${sandboxId}/timeout`, { body: '{"timeout":60}' });
    expect(errorOf(timeout)).toEqual(anError(404));
    await kill();
  });

  it('rule 8.1-2: that is gone makes the kill of either client false', async () => {
    const { sandboxId, kill } = await stack.createSandbox();
    const { apiKey, apiUrl } = stack.address;
    const options: object = { apiKey, apiUrl };
    await kill();
    expect(await Sandbox.kill(sandboxId, stack.connection)).toBe(false);
    expect(await official.Sandbox.kill(sandboxId, options)).toBe(false);
    await expect(official.Sandbox.getInfo(sandboxId, options)).rejects.toBeInstanceOf(
      official.SandboxNotFoundError,
    );
  });
});

describe('a success without a body', () => {
  it('rule 8.1-4: is 204 or has a length, never empty chunks', async () => {
    const { sandboxId } = await stack.createSandbox();
    const path = `/sandboxes/${sandboxId}`;
    for (const [route, body] of [
      ['GET /health'],
      ['GET /sandboxes'],
      [`GET ${path}`],
      [`POST ${path}/timeout`, '{"timeout":60}'],
      [`POST ${path}/refreshes`, '{"duration":60}'],
      [`POST ${path}/pause`, '{"memory":false}'],
      [`POST /v2${path}/connect`, '{}'],
      [`DELETE ${path}`],
    ] as const) {
      const { status, headers, text, json } = await call(route, body === undefined ? {} : { body });
      expect(status, route).toBeGreaterThanOrEqual(200);
      expect(status, route).toBeLessThan(300);
      if (status === 204) expect([text, headers.get('transfer-encoding')], route).toEqual(['', null]);
      else if (text === '') expect(headers.get('content-length'), route).toBe('0');
      else if (route !== 'GET /health') expect(json, route).toBeDefined();
    }
  });
});

describe('the contents of volumes', () => {
  it.each([
    'GET /volumecontent/vol1/path?path=/a',
    'PATCH /volumecontent/vol1/path?path=/a',
    'DELETE /volumecontent/vol1/path?path=/a',
    'GET /volumecontent/vol1/dir?path=/a',
    'POST /volumecontent/vol1/dir?path=/a',
    'GET /volumecontent/vol1/file?path=/a',
    'PUT /volumecontent/vol1/file?path=/a',
  ])('rule 10-45: are not served, so that %s answers like any unknown route', async (route) => {
    const unknown = await call('GET /volumecontents-of-nobody');
    expect(errorOf(unknown)).toEqual(anError(404));
    const answer = await call(route, { headers: { authorization: 'Bearer volume-token' } });
    expect(errorOf(answer)).toEqual(anError(404));
  });
});

describe('times', () => {
  it('rule 10-47: are compared as they are written, so that a start includes its own sandbox', async () => {
    const first = await stack.createSandbox();
    const second = await stack.createSandbox();
    const { json } = await call(`GET /sandboxes/${second.sandboxId}`);
    const { startedAt } = json as { startedAt: string };
    const listed = async (from: string): Promise<string[]> => {
      const answer = await call(`GET /v2/sandboxes?startedAfter=${encodeURIComponent(from)}`);
      return (answer.json as { sandboxID: string }[]).map(({ sandboxID }) => sandboxID);
    };
    expect(await listed(startedAt)).toEqual([second.sandboxId]);
    // One moment, to the nanosecond and in another zone.
    expect(await listed(startedAt.replace('Z', '000000Z'))).toEqual([second.sandboxId]);
    expect(await listed(startedAt.replace('Z', '+00:00'))).toEqual([second.sandboxId]);
    expect(await listed(new Date(Date.parse(startedAt) + 1).toISOString())).toEqual([]);
    await first.kill();
    await second.kill();
  });
});
