import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseReference } from './reference.ts';
import { createRegistry, type Registry, type RegistryOptions } from './registry.ts';
import { type LoopbackRegistry, startLoopbackRegistry } from './testing/loopback-registry.ts';

let server: LoopbackRegistry;
beforeEach(async () => {
  server = await startLoopbackRegistry();
  server.addImage('v1', []);
});
afterEach(() => server.close());

function connect(options: Partial<RegistryOptions> = {}): Registry {
  return createRegistry({ reference: parseReference(`${server.host}/some/image:v1`), ...options });
}

/** Makes the registry ask for a token, which its own /token gives to everybody or to one user. */
function askForToken({ forBasic }: { forBasic?: string } = {}): void {
  server.intercept = ({ url = '', headers }, response) => {
    if (url.startsWith('/token')) {
      const allowed = forBasic === undefined || headers.authorization === forBasic;
      response.writeHead(allowed ? 200 : 401).end('{"token":"t0ken"}');
      return true;
    }
    if (headers.authorization === 'Bearer t0ken') return false;
    const realm = `Bearer realm="http://${server.host}/token",service="a \\"service\\""`;
    response.writeHead(401, { 'www-authenticate': realm }).end();
    return true;
  };
}

describe('createRegistry', () => {
  it('gets a token once, without credentials, when the registry asks for one', async () => {
    askForToken();
    const registry = connect();
    await registry.manifest('v1');
    await registry.manifest('v1');
    const scope = encodeURIComponent('repository:some/image:pull');
    expect(server.requests).toEqual([
      { url: '/v2/some/image/manifests/v1', authorization: undefined },
      { url: `/token?service=a+%22service%22&scope=${scope}`, authorization: undefined },
      { url: '/v2/some/image/manifests/v1', authorization: 'Bearer t0ken' },
      { url: '/v2/some/image/manifests/v1', authorization: 'Bearer t0ken' },
    ]);
  });

  it('shows the credentials to whoever gives the token only', async () => {
    const basic = `Basic ${Buffer.from('me:secret').toString('base64')}`;
    askForToken({ forBasic: basic });
    await connect({ credentials: { username: 'me', password: 'secret' } }).manifest('v1');
    expect(server.requests.filter(({ authorization }) => authorization === basic)).toHaveLength(1);
    await expect(connect().manifest('v1')).rejects.toMatchObject({ code: 'registry_refused' });
  });

  it('answers a basic challenge, and refuses when it has no credentials', async () => {
    server.intercept = ({ headers }, response) => {
      if (headers.authorization === `Basic ${btoa('me:secret')}`) return false;
      response.writeHead(401, { 'www-authenticate': 'Basic realm="here"' }).end();
      return true;
    };
    const credentials = { username: 'me', password: 'secret' };
    await expect(connect({ credentials }).manifest('v1')).resolves.toMatchObject({
      document: { schemaVersion: 2 },
    });
    await expect(connect().manifest('v1')).rejects.toMatchObject({ code: 'registry_refused' });
  });

  it('follows a redirect to another server without the token', async () => {
    const other = await startLoopbackRegistry();
    try {
      const blob = other.addBlob(Buffer.from('content'));
      askForToken();
      const tokens = server.intercept;
      server.intercept = (request, response) => {
        if (tokens?.(request, response)) return true;
        response.writeHead(307, { location: `http://${other.host}/v2/x/blobs/${blob.digest}` }).end();
        return true;
      };
      expect(await text(await connect().blob(blob.digest))).toBe('content');
      expect(other.requests).toEqual([{ url: `/v2/x/blobs/${blob.digest}`, authorization: undefined }]);
    } finally {
      await other.close();
    }
  });

  it.each(['http://registry.example/x', 'file:///etc/passwd', 'http://169.254.169.254/latest'])(
    'does not follow a redirect to %s',
    async (location) => {
      server.intercept = (_, response) => Boolean(response.writeHead(302, { location }).end());
      await expect(connect().manifest('v1')).rejects.toMatchObject({ code: 'registry_refused' });
    },
  );

  it('does not take a token from plain http on another host', async () => {
    const challenge = 'Bearer realm="http://registry.example/token"';
    server.intercept = (_, response) =>
      Boolean(response.writeHead(401, { 'www-authenticate': challenge }).end());
    await expect(connect().manifest('v1')).rejects.toMatchObject({ code: 'registry_refused' });
  });

  it('gives up on a registry that redirects forever', async () => {
    server.intercept = ({ url = '' }, response) =>
      Boolean(response.writeHead(302, { location: `${url}x` }).end());
    await expect(connect().manifest('v1')).rejects.toMatchObject({ code: 'registry_refused' });
    expect(server.requests.length).toBeLessThan(10);
  });

  it.each([
    [404, 'registry_refused'],
    [403, 'registry_refused'],
    [429, 'registry_unavailable'],
    [503, 'registry_unavailable'],
  ])('rejects an answer of %i with %s', async (status, code) => {
    server.intercept = (_, response) => Boolean(response.writeHead(status).end());
    await expect(connect().manifest('v1')).rejects.toMatchObject({ code });
  });

  it('calls a registry unavailable that is not there, and one that does not answer in time', async () => {
    const gone = await startLoopbackRegistry();
    await gone.close();
    const nobody = createRegistry({ reference: parseReference(`${gone.host}/a`) });
    await expect(nobody.manifest('v1')).rejects.toMatchObject({ code: 'registry_unavailable' });
    server.intercept = () => true;
    const silent = connect({ answerTimeoutMs: 50 });
    await expect(silent.manifest('v1')).rejects.toMatchObject({ code: 'registry_unavailable' });
  });

  it('refuses a manifest of more than 4 MiB and one that is no JSON', async () => {
    server.intercept = (_, response) => Boolean(response.end(' '.repeat((4 << 20) + 1)));
    await expect(connect().manifest('v1')).rejects.toMatchObject({ code: 'too_large' });
    server.intercept = (_, response) => Boolean(response.end('<html>'));
    await expect(connect().manifest('v1')).rejects.toMatchObject({ code: 'corrupt' });
  });
});
