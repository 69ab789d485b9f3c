import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { AwsV4Signer } from 'aws4fetch';

/** A registry on loopback that asks for a user name and a password, in front of one that does not, and the API of ECR beside it. */
export interface LoginRegistry extends AsyncDisposable {
  /** `127.0.0.1:port`. */
  readonly host: string;
}

export interface LoginRegistryOptions {
  /** The registry that has the images. */
  behind: string;
  /** Who may pull, as user name → password. */
  accounts: Readonly<Record<string, string>>;
  /** The access key for which the API issues a token, which is the account `AWS`. */
  key: { accessKeyId: string; secretAccessKey: string; region: string };
}

export async function startLoginRegistry(options: LoginRegistryOptions): Promise<LoginRegistry> {
  const { behind, accounts, key } = options;
  const allowed = Object.entries(accounts).map(
    ([name, password]) => `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`,
  );
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { url = '/', headers } = request;
    if (request.method === 'POST') {
      const isSigned = await isSignedBy(key, request, { host, body: await text(request) });
      const authorizationToken = Buffer.from(`AWS:${accounts.AWS ?? ''}`).toString('base64');
      const answer = isSigned
        ? { authorizationData: [{ authorizationToken }] }
        : { __type: 'UnrecognizedClientException', message: headers.authorization };
      response.writeHead(isSigned ? 200 : 400).end(JSON.stringify(answer));
    } else if (allowed.includes(headers.authorization ?? '')) {
      const answer = await fetch(`http://${behind}${url}`, { headers: { accept: headers.accept ?? '' } });
      response.setHeader('content-type', answer.headers.get('content-type') ?? '');
      response.writeHead(answer.status).end(new Uint8Array(await answer.arrayBuffer()));
    } else response.writeHead(401, { 'www-authenticate': 'Basic realm="images"' }).end();
  };
  const server = createServer((request, response) => {
    serve(request, response).catch((error: Error) => response.destroy(error));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    host,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Whether the signature is the one that the key makes of what was received. */
async function isSignedBy(
  key: LoginRegistryOptions['key'],
  { headers }: IncomingMessage,
  { host, body }: { host: string; body: string },
): Promise<boolean> {
  const target = String(headers['x-amz-target']);
  if (target !== 'AmazonEC2ContainerRegistry_V20150921.GetAuthorizationToken') return false;
  const request = { url: `http://${host}/`, method: 'POST', body, headers: { 'x-amz-target': target } };
  const datetime = String(headers['x-amz-date']);
  const signed = await new AwsV4Signer({ ...request, ...key, datetime, service: 'ecr' }).sign();
  return signed.headers.get('authorization') === headers.authorization;
}
