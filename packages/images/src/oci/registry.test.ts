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
  return createRegistry({
    reference: parseReference(`${server.host}/some/image:v1`),
    retryMs: 1,
    ...options,
  });
}

const openBlob = ({ digest, size }: { digest: string; size: number }, options?: Partial<RegistryOptions>) =>
  connect(options).blob({ digest, sizeBytes: size });

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
      expect(await text(await openBlob(blob))).toBe('content');
      expect(other.requests).toEqual([{ url: `/v2/x/blobs/${blob.digest}`, authorization: undefined }]);
    } finally {
      await other.close();
    }
  });

  it('asks no server for a token that only a redirect names', async () => {
    const other = await startLoopbackRegistry();
    try {
      other.intercept = (_, response) => {
        const challenge = `Bearer realm="http://${other.host}/token",service="x"`;
        response.writeHead(401, { 'www-authenticate': challenge }).end();
        return true;
      };
      server.intercept = (_, response) => {
        response.writeHead(307, { location: `http://${other.host}/v2/x/manifests/v1` }).end();
        return true;
      };
      const credentials = { username: 'someone', password: 'a-password' };
      await expect(connect({ credentials }).manifest('v1')).rejects.toMatchObject({
        code: 'registry_refused',
        message: expect.stringContaining('which answers with 401'),
      });
      expect(other.requests).toEqual([{ url: '/v2/x/manifests/v1', authorization: undefined }]);
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
    expect((await buffer(await openBlob(blob))).equals(content)).toBe(true);
    expect(ranges).toEqual([undefined, ...[1, 2, 3, 4, 5].map((part) => `bytes=${part * MIB}-`)]);
  });

  it('reads a blob from where it broke off when the registry sends all of it again', async () => {
    const content = Buffer.alloc(3 * MIB, '0123456789');
    const blob = server.addBlob(content);
    let parts = 0;
    server.intercept = (_, response) => {
      parts += 1;
      response.writeHead(200, { 'content-length': content.length });
      if (parts === 3) response.end(content);
      else response.write(content.subarray(0, parts * MIB), () => setTimeout(() => response.destroy(), 20));
      return true;
    };
    expect((await buffer(await openBlob(blob))).equals(content)).toBe(true);
    expect(parts).toBe(3);
  });

  it('has all of a blob when the connection breaks behind the last byte', async () => {
    const blob = server.addBlob(Buffer.from('all of it'));
    server.intercept = (_, response) => {
      response.writeHead(200).write('all of it', () => setTimeout(() => response.destroy(), 20));
      return true;
    };
    expect(await text(await openBlob(blob))).toBe('all of it');
    expect(server.requests).toHaveLength(1);
  });

  it('gives up on a blob when a registry cannot continue, or when attempts bring nothing', async () => {
    const blob = server.addBlob(Buffer.alloc(5000));
    server.intercept = (_, response) => {
      response.writeHead(200, { 'content-length': 5000 });
      response.write(Buffer.alloc(1000), () => setTimeout(() => response.destroy(), 20));
      return true;
    };
    await expect(text(await openBlob(blob))).rejects.toMatchObject({
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
    await expect(text(await openBlob(blob))).rejects.toMatchObject({
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

  it.each(['manifest', 'token', 'blob'])(
    'repeats a request for a %s that fails for a while',
    async (what) => {
      askForToken();
      const tokens = server.intercept;
      const statuses = [503, 429, 500];
      server.intercept = (request, response) => {
        const isMeant = request.url?.includes(what) && (what === 'token' || request.headers.authorization);
        const status = isMeant ? statuses.shift() : undefined;
        if (status === undefined) return tokens?.(request, response) ?? false;
        response.writeHead(status).end();
        return true;
      };
      const blob = server.addBlob(Buffer.from('content'));
      const registry = connect();
      await expect(registry.manifest('v1')).resolves.toMatchObject({ document: { schemaVersion: 2 } });
      expect(await text(await registry.blob({ ...blob, sizeBytes: blob.size }))).toBe('content');
      expect(statuses).toEqual([]);
    },
  );

  it('does not repeat a request before the time that the registry names', async () => {
    const times: number[] = [];
    server.intercept = (_, response) => {
      times.push(performance.now());
      if (times.length === 2) return false;
      return Boolean(response.writeHead(429, { 'retry-after': '1' }).end());
    };
    await connect().manifest('v1');
    const [first = 0, second = 0] = times;
    expect(second - first).toBeGreaterThan(990);
  });

  it.each(['3600', new Date(Date.now() + 3_600_000).toUTCString()])(
    'gives up at once when the registry asks to wait until %s',
    async (time) => {
      server.intercept = (_, response) => Boolean(response.writeHead(429, { 'retry-after': time }).end());
      await expect(connect().manifest('v1')).rejects.toMatchObject({
        code: 'registry_unavailable',
        message: expect.stringMatching(
          /was answered with 429; the next attempt is due in 3\d{3} s, and a pull/,
        ),
      });
      expect(server.requests).toHaveLength(1);
    },
  );

  it('ends the wait for another attempt with the reason of the signal', async () => {
    const stopping = new AbortController();
    server.intercept = (_, response) => {
      response.writeHead(503).end(() => setTimeout(() => stopping.abort(new Error('enough')), 20));
      return true;
    };
    const asking = connect({ retryMs: 60_000, signal: stopping.signal }).manifest('v1');
    await expect(asking).rejects.toThrow('enough');
  });

  it('reports a registry as unavailable that does not exist, and one that does not answer in time', async () => {
    const gone = await startLoopbackRegistry();
    await gone.close();
    const nobody = connect({ reference: parseReference(`${gone.host}/a`) });
    await expect(nobody.manifest('v1')).rejects.toMatchObject({
      code: 'registry_unavailable',
      message: `${gone.host} does not answer; given up after 4 attempts`,
    });
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
