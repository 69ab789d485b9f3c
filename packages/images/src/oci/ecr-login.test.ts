import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { AwsV4Signer } from 'aws4fetch';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loginToEcr } from './ecr-login.ts';
import { reachAny } from './reach.ts';

const key = {
  accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  region: 'eu-west-1',
};

let server: Server;
let endpoint: string;
let answer: { status: number; body: string };
let received: { request: IncomingMessage; body: string }[];

beforeEach(async () => {
  received = [];
  const authorizationToken = Buffer.from('AWS:a:token').toString('base64');
  answer = { status: 200, body: JSON.stringify({ authorizationData: [{ authorizationToken }] }) };
  server = createServer((request, response) => {
    void text(request).then((body) => {
      received.push({ request, body });
      response.writeHead(answer.status).end(answer.body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

const login = () => loginToEcr(key, { reach: reachAny, endpoint });

describe('loginToEcr', () => {
  it('resolves with the user name and the password of the token, for a request that the key signs', async () => {
    expect(await login()).toEqual({ username: 'AWS', password: 'a:token' });
    const [{ request, body } = { request: undefined, body: '' }] = received;
    const { method, headers } = request as IncomingMessage;
    expect({ method, body, type: headers['content-type'], target: headers['x-amz-target'] }).toEqual({
      method: 'POST',
      body: '{}',
      type: 'application/x-amz-json-1.1',
      target: 'AmazonEC2ContainerRegistry_V20150921.GetAuthorizationToken',
    });
    const datetime = String(headers['x-amz-date']);
    const signed = { 'x-amz-target': String(headers['x-amz-target']) };
    const again = { url: endpoint, method: 'POST', body, headers: signed, datetime };
    const expected = await new AwsV4Signer({ ...again, ...key, service: 'ecr' }).sign();
    expect(headers.authorization).toBe(expected.headers.get('authorization'));
    expect(headers.authorization).toContain(`/${datetime.slice(0, 8)}/eu-west-1/ecr/aws4_request`);
    expect(JSON.stringify(headers)).not.toContain(key.secretAccessKey);
  });

  it.each([
    ['eu-west-1', 'https://api.ecr.eu-west-1.amazonaws.com/'],
    ['cn-north-1', 'https://api.ecr.cn-north-1.amazonaws.com.cn/'],
  ])('asks the API of %s', async (region, url) => {
    const asked: string[] = [];
    const reach = async (at: URL): Promise<Response> => {
      asked.push(at.href);
      return new Response(answer.body);
    };
    await loginToEcr({ ...key, region }, { reach });
    expect(asked).toEqual([url]);
  });

  it.each([
    [
      400,
      'com.amazonaws.ecr#UnrecognizedClientException',
      'registry_refused',
      ' UnrecognizedClientException',
    ],
    [403, `<${key.secretAccessKey}>`, 'registry_refused', ''],
    [503, undefined, 'registry_unavailable', ''],
  ])('reports an answer of %i by the kind of the error alone', async (status, type, code, shown) => {
    answer = { status, body: JSON.stringify({ __type: type, message: `no ${key.secretAccessKey}` }) };
    const { host } = new URL(endpoint);
    const message = `${host} issues no token for the AWS credentials: ${status}${shown}`;
    await expect(login()).rejects.toMatchObject({ code, message });
  });

  it.each(['<html>', '{}', 'null', '{"authorizationData":[{"authorizationToken":"bm8gY29sb24="}]}'])(
    'rejects the answer %s, which has no token',
    async (body) => {
      answer = { status: 200, body };
      await expect(login()).rejects.toMatchObject({ code: 'corrupt' });
    },
  );
});
