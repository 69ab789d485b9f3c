import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { testAgents } from './agent-under-test.ts';
import { envelope, readEnvelopes } from './envelopes.ts';
import { type Http2Session, openHttp2 } from './http2-session.ts';

testAgents((agent) => {
  const unary = { 'content-type': 'application/json', 'connect-protocol-version': '1' };
  const streaming = { 'content-type': 'application/connect+json', 'connect-protocol-version': '1' };
  const raw = { 'content-type': 'application/octet-stream' };

  describe.each(['socket', 'port'] as const)('HTTP/2 without TLS on the agent’s %s', (way) => {
    let http2: Http2Session;
    beforeAll(async () => {
      http2 = await openHttp2(agent, way);
    });
    afterAll(() => http2[Symbol.dispose]());

    const call = async (procedure: string, body: unknown) => {
      const answer = await http2.send(
        { method: 'POST', path: `/${procedure}`, headers: unary },
        JSON.stringify(body),
      );
      return [answer.status, JSON.parse(answer.body.toString())];
    };

    it('rule 6.1-15: serves health, files, calls and streams as HTTP/1.1 does', async () => {
      expect((await http2.send({ path: '/health', headers: { 'x-access-token': '' } })).status).toBe(204);
      const bytes = randomBytes(3 << 20);
      const path = `/files?path=/tmp/h2-${way}`;
      const upload = await http2.send({ method: 'POST', path, headers: raw }, bytes);
      expect([upload.status, JSON.parse(upload.body.toString())]).toEqual([
        200,
        [{ path: `/tmp/h2-${way}`, name: `h2-${way}`, type: 'file' }],
      ]);
      expect((await http2.send({ path })).body.equals(bytes)).toBe(true);
      expect(await call('filesystem.Filesystem/Stat', { path: `/tmp/h2-${way}` })).toMatchObject([
        200,
        { entry: { size: bytes.length, owner: 'user' } },
      ]);
      const start = { process: { cmd: '/bin/sh', args: ['-c', 'echo out; exit 3'] } };
      const stream = await http2.send(
        { method: 'POST', path: '/process.Process/Start', headers: streaming },
        envelope(start),
      );
      expect([stream.status, stream.headers['content-type']]).toEqual([200, 'application/connect+json']);
      expect(readEnvelopes(stream.body)).toMatchObject([
        { flags: 0, json: { event: { start: {} } } },
        { flags: 0, json: { event: { data: { stdout: 'b3V0Cg==' } } } },
        { flags: 0, json: { event: { end: { exitCode: 3 } } } },
        { flags: 2, json: {} },
      ]);
    });

    it('rule 6.1-15, 6.1-4: answers the same errors as HTTP/1.1', async () => {
      expect(await call('filesystem.Filesystem/Stat', { path: '/no/such' })).toMatchObject([
        404,
        { code: 'not_found' },
      ]);
      const missing = await http2.send({ path: '/files?path=/no/such' });
      expect([missing.status, JSON.parse(missing.body.toString())]).toMatchObject([404, { code: 404 }]);
      const closed = await http2.send({ path: '/metrics', headers: { 'x-access-token': 'wrong' } });
      expect([closed.status, JSON.parse(closed.body.toString())]).toEqual([
        401,
        { code: 401, message: 'invalid access token' },
      ]);
      const internal = await http2.send({ method: 'POST', path: '/init' }, '{}');
      expect(internal.status).toBe(404);
    });

    it('rule 6.1-11, 6.1-15: keeps the process and the connection of a stream that was reset', async () => {
      const stream = http2.open({ method: 'POST', path: '/process.Process/Start', headers: streaming });
      stream.on('error', () => undefined);
      stream.end(envelope({ process: { cmd: 'sleep', args: ['1000.75'] }, tag: `reset-${way}` }));
      await once(stream, 'data');
      stream.destroy();
      const { processes } = await agent.client.process.list({});
      const kept = processes.find(({ tag }) => tag === `reset-${way}`);
      expect(kept).toBeDefined();
      expect((await http2.send({ path: '/health' })).status).toBe(204);
    });
  });

  it('rule 6.1-15: is spoken on the port by the programs of the sandbox, too', async () => {
    const curl = ['curl', '-s', '-o', '/dev/null', '-w', '%{http_version} %{http_code}', '-H'];
    const token = `X-Access-Token: ${agent.accessToken}`;
    const answers: string[] = [];
    for (const version of ['--http1.1', '--http2-prior-knowledge', '--http2']) {
      const process = {
        cmd: curl[0] as string,
        args: [...curl.slice(1), token, version, `${agent.innerUrl}/files?path=/etc/hostname`],
      };
      for await (const { event } of agent.client.process.start({ process }))
        if (event?.event.case === 'data' && event.event.value.output.case === 'stdout')
          answers.push(Buffer.from(event.event.value.output.value).toString());
    }
    expect(answers).toEqual(['1.1 200', '2 200', '1.1 200']);
  });
});
