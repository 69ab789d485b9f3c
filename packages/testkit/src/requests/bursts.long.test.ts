import { once } from 'node:events';
import { connect, type IncomingHttpHeaders } from 'node:http2';
import { Agent, request as openRequest } from 'node:https';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { makeTrustedCertificate, type TrustedCertificate } from '../secure/trusted-certificate.ts';
import { type Stack, startStack } from '../stack/stack.ts';

const PLACES = 40;
const CREATES = 500;

let certificate: TrustedCertificate;
let stack: Stack;
beforeAll(async () => {
  certificate = makeTrustedCertificate('localhost');
  stack = await startStack({
    args: [...certificate.args, '--max-sandboxes', String(PLACES), '--base-memory', '128'],
  });
});
afterAll(async () => {
  await stack.down();
  certificate[Symbol.dispose]();
});

interface Answer {
  status: number | undefined;
  retryAfter: string | undefined;
  body: string;
}

const body = JSON.stringify({ templateID: 'base', timeout: 600 });
const headers = () => ({ 'x-api-key': stack.address.apiKey, 'content-type': 'application/json' });

/** Each on a connection of its own. */
const createOverHttp1 = (): Promise<Answer>[] => {
  const create = async (): Promise<Answer> => {
    const request = openRequest(new URL('/v2/sandboxes', stack.address.apiUrl), {
      method: 'POST',
      agent: new Agent(),
      headers: { ...headers(), 'content-length': body.length },
    });
    const answered = Promise.withResolvers<Answer>();
    request.once('error', answered.reject).once('response', (response) => {
      const { statusCode: status } = response;
      const retryAfter = response.headers['retry-after'];
      text(response).then((body) => answered.resolve({ status, retryAfter, body }), answered.reject);
    });
    request.end(body);
    return answered.promise;
  };
  return Array.from({ length: CREATES }, create);
};

/** All on one connection. */
const createOverHttp2 = (): Promise<Answer>[] => {
  const session = connect(stack.address.apiUrl);
  const create = async (): Promise<Answer> => {
    const stream = session.request({ ':method': 'POST', ':path': '/v2/sandboxes', ...headers() });
    stream.end(body);
    const [answer] = (await once(stream, 'response')) as [IncomingHttpHeaders];
    const retryAfter = answer['retry-after'] as string | undefined;
    return { status: Number(answer[':status']), retryAfter, body: await text(stream) };
  };
  const answers = Array.from({ length: CREATES }, create);
  void Promise.allSettled(answers).then(() => session.close());
  return answers;
};

it.each([
  ['HTTP/1.1', createOverHttp1],
  ['HTTP/2', createOverHttp2],
])(
  'answers each of 500 creates at once over %s, and refuses only those beyond the concurrency limit',
  async (_protocol, createAll) => {
    const answers = await Promise.all(createAll());
    const made = answers.filter(({ status }) => status === 201);
    expect(made).toHaveLength(PLACES);
    const ids = made.map(({ body }) => (JSON.parse(body) as { sandboxID: string }).sandboxID);
    const listed = (await stack.api.GET('/sandboxes')).data ?? [];
    expect(listed.map(({ sandboxID }) => sandboxID).toSorted()).toEqual(ids.toSorted());
    for (const { status, retryAfter, body } of answers.filter((answer) => !made.includes(answer))) {
      expect([status, retryAfter]).toEqual([429, expect.stringMatching(/^\d+$/)]);
      expect(JSON.parse(body)).toMatchObject({
        ...{ code: 429, message: expect.stringContaining(`limit of ${PLACES} sandboxes`) },
      });
    }
    for (const sandboxID of ids)
      await stack.api.DELETE('/sandboxes/{sandboxID}', { params: { path: { sandboxID } } });
  },
);
