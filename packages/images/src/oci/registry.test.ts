import { buffer, text } from 'node:stream/consumers';
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

const MIB = 2 ** 20;

function connect(options: Partial<RegistryOptions> = {}): Registry {
  return createRegistry({ reference: parseReference(`${server.host}/some/image:v1`), ...options });
}

/** Makes the registry require a token, which its own /token issues to everyone or to one user. */
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
  it('requests a token once, without credentials, when the registry requires one', async () => {
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

  it('sends the credentials to the issuer of the token only', async () => {
    const basic = `Basic ${Buffer.from('me:secret').toString('base64')}`;
    askForToken({ forBasic: basic });
    await connect({ credentials: { username: 'me', password: 'secret' } }).manifest('v1');
    expect(server.requests.filter(({ authorization }) => authorization === basic)).toHaveLength(1);
    await expect(connect().manifest('v1')).rejects.toMatchObject({ code: 'registry_refused' });
  });

  it('answers a basic challenge, and rejects when it has no credentials', async () => {
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

  it('requests the rest of a blob when the connection breaks, again and again while there is progress', async () => {
    const content = Buffer.alloc(6 * MIB, '0123456789');
    const blob = server.addBlob(content);
    const ranges: (string | undefined)[] = [];
    server.intercept = ({ headers }, response) => {
      ranges.push(headers.range);
      const offset = Number(/^bytes=(\d+)-$/.exec(headers.range ?? '')?.[1] ?? 0);
      const rest = content.subarray(offset);
      response.writeHead(offset > 0 ? 206 : 200, { 'content-length': rest.length });
      if (rest.length <= MIB) response.end(rest);
      else response.write(rest.subarray(0, MIB), () => setTimeout(() => response.destroy(), 20));
      return true;
    };
    expect((await buffer(await connect().blob(blob.digest))).equals(content)).toBe(true);
    expect(ranges).toEqual([undefined, ...[1, 2, 3, 4, 5].map((part) => `bytes=${part * MIB}-`)]);
  });

  it('gives up on a blob when a registry cannot continue, or when attempts bring nothing', async () => {
    const blob = server.addBlob(Buffer.alloc(5000));
    server.intercept = (_, response) => {
      response.writeHead(200, { 'content-length': 5000 });
      response.write(Buffer.alloc(1000), () => setTimeout(() => response.destroy(), 20));
      return true;
    };
    await expect(text(await connect().blob(blob.digest))).rejects.toMatchObject({
      code: 'registry_unavailable',
    });
    expect(server.requests).toHaveLength(4);
  });

  it('gives up on a blob when connections bring little each', async () => {
    const blob = server.addBlob(Buffer.alloc(5000));
    server.intercept = ({ headers }, response) => {
      response.writeHead(headers.range ? 206 : 200, { 'content-length': 5000 });
      response.write(Buffer.alloc(10), () => setTimeout(() => response.destroy(), 20));
      return true;
    };
    await expect(text(await connect().blob(blob.digest))).rejects.toMatchObject({
      code: 'registry_unavailable',
    });
    expect(server.requests).toHaveLength(4);
  });

  it('gives up on a document that stops in the middle', async () => {
    server.intercept = (_, response) => response.writeHead(200).write('{');
    await expect(connect({ idleMs: 50 }).manifest('v1')).rejects.toMatchObject({
      code: 'registry_unavailable',
    });
  });

  it('reads no more of a token than 64 KiB', async () => {
    server.intercept = ({ url = '' }, response) => {
      const realm = `Bearer realm="http://${server.host}/token"`;
      if (url.startsWith('/token')) response.end(JSON.stringify({ token: 'x'.repeat(64 << 10) }));
      else response.writeHead(401, { 'www-authenticate': realm }).end();
      return true;
    };
    await expect(connect().manifest('v1')).rejects.toMatchObject({ code: 'too_large' });
  });

  it.each(['http://registry.example/x', 'file:///etc/passwd', 'http://169.254.169.254/latest'])(
    'does not follow a redirect to %s',
    async (location) => {
      server.intercept = (_, response) => Boolean(response.writeHead(302, { location }).end());
      await expect(connect().manifest('v1')).rejects.toMatchObject({ code: 'registry_refused' });
    },
  );

  it('does not accept a token from plain http on another host', async () => {
    const challenge = 'Bearer realm="http://registry.example/token"';
    server.intercept = (_, response) =>
      Boolean(response.writeHead(401, { 'www-authenticate': challenge }).end());
    await expect(connect().manifest('v1')).rejects.toMatchObject({ code: 'registry_refused' });
  });

  it('gives up on a registry that redirects forever', async () => {
    server.intercept = ({ url = '' }, response) =>
      Boolean(response.writeHead(302, { location: `${url}x` }).end());
    await expect(connect().manifest('v1')).rejects.toMatchObject({ code: 'registry_refused' });
    expect(server.requests.length).toBeGreaterThan(1);
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

  /** Answers so many requests with 429. */
  const refuse = (count: number, retryAfter: string): void => {
    let left = count;
    server.intercept = (_, response) => {
      left -= 1;
      return left >= 0 && Boolean(response.writeHead(429, { 'retry-after': retryAfter }).end());
    };
  };

  it('waits as long as a registry asks for, three times at most', async () => {
    refuse(3, '0');
    await expect(connect().manifest('v1')).resolves.toMatchObject({ document: { schemaVersion: 2 } });
    server.requests.length = 0;
    refuse(9, '0');
    await expect(connect().manifest('v1')).rejects.toMatchObject({ code: 'registry_unavailable' });
    expect(server.requests).toHaveLength(4);
  });

  it('does not wait longer than a minute, and says how long the registry asks for', async () => {
    refuse(1, '61');
    await expect(connect().manifest('v1')).rejects.toMatchObject({
      code: 'registry_unavailable',
      message: expect.stringContaining('was answered with 429, and asks to wait 61 s'),
    });
    expect(server.requests).toHaveLength(1);
  });

  it('ends the wait with the reason of the signal', async () => {
    const abort = new AbortController();
    refuse(9, '60');
    const asked = connect({ signal: abort.signal }).manifest('v1');
    await expect.poll(() => server.requests.length).toBe(1);
    abort.abort(new Error('enough'));
    await expect(asked).rejects.toThrow('enough');
  });

  it('reports a registry as unavailable that does not exist, and one that does not answer in time', async () => {
    const gone = await startLoopbackRegistry();
    await gone.close();
    const nobody = createRegistry({ reference: parseReference(`${gone.host}/a`) });
    await expect(nobody.manifest('v1')).rejects.toMatchObject({ code: 'registry_unavailable' });
    server.intercept = () => true;
    const silent = connect({ answerTimeoutMs: 50 });
    await expect(silent.manifest('v1')).rejects.toMatchObject({ code: 'registry_unavailable' });
  });

  it('rejects a manifest of more than 4 MiB and one that is not JSON', async () => {
    server.intercept = (_, response) => Boolean(response.end(' '.repeat((4 << 20) + 1)));
    await expect(connect().manifest('v1')).rejects.toMatchObject({ code: 'too_large' });
    server.intercept = (_, response) => Boolean(response.end('<html>'));
    await expect(connect().manifest('v1')).rejects.toMatchObject({ code: 'corrupt' });
  });
});
