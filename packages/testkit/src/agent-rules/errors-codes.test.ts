import { beforeAll, describe, expect, it } from 'vitest';
import { testAgents } from './agent-under-test.ts';
import { begin, sh } from './process-events.ts';

testAgents((agent) => {
  const { unary, stream } = agent.rpc;

  describe('the codes of the agent', () => {
    beforeAll(async () => {
      await agent.run(
        'mkdir -p /tmp/c/full /tmp/c/other/below && touch /tmp/c/file && ln -s loop /tmp/c/loop && ln -s /tmp/c/loop /tmp/c/again',
        'user',
      );
    });

    it.each([
      ['filesystem.Filesystem/Stat', { path: '~other/x' }, 400, 'invalid_argument'],
      ['filesystem.Filesystem/ListDir', { path: '/tmp/c/file' }, 400, 'invalid_argument'],
      ['filesystem.Filesystem/MakeDir', { path: '/tmp/c/file' }, 400, 'invalid_argument'],
      ['filesystem.Filesystem/ListDir', { path: '/tmp/c/loop' }, 400, 'failed_precondition'],
      ['filesystem.Filesystem/Stat', { path: '/tmp/c/none' }, 404, 'not_found'],
      ['filesystem.Filesystem/GetWatcherEvents', { watcherId: 'w0' }, 404, 'not_found'],
      ['process.Process/SendSignal', { process: { pid: 999_999 }, signal: 9 }, 404, 'not_found'],
      ['filesystem.Filesystem/MakeDir', { path: '/tmp/c/full' }, 409, 'already_exists'],
      ['filesystem.Filesystem/Move', { source: '/tmp/c/full', destination: '/tmp/c/other' }, 500, 'internal'],
      ['process.Process/SendInput', {}, 501, 'unimplemented'],
    ])('rule 8.4-1, 6.1-4: %s %j answers %i %s', async (procedure, body, status, code) => {
      const answer = await unary(procedure, body);
      expect([answer.status, answer.json]).toEqual([status, { code, message: expect.stringMatching(/./) }]);
      expect(answer.headers['content-type']).toBe('application/json');
    });

    it('rule 8.4-1: answer 401 for an unknown user and 500 for what has no code of its own', async () => {
      const ghost = { authorization: `Basic ${Buffer.from('ghost:').toString('base64')}` };
      const unknown = await unary('process.Process/List', {}, ghost);
      expect([unknown.status, unknown.json]).toMatchObject([401, { code: 'unauthenticated' }]);
      const size = { cols: 80, rows: 24 };
      const { pid } = await begin(agent.client.process.start({ ...sh('sleep 100'), pty: { size } }));
      const closed = await unary('process.Process/CloseStdin', { process: { pid } });
      expect([closed.status, closed.json]).toMatchObject([500, { code: 'unknown' }]);
      await agent.kill(pid);
    });

    it('rule 8.4-1, 6.1-4: are those of a stream too, whose status is 200', async () => {
      for (const [procedure, body, code] of [
        ['process.Process/Start', { process: { cmd: 'true', cwd: '/no/such' } }, 'invalid_argument'],
        ['process.Process/Start', {}, 'invalid_argument'],
        ['process.Process/Connect', { process: { tag: 'nobody' } }, 'not_found'],
        ['process.Process/Connect', {}, 'unimplemented'],
        ['filesystem.Filesystem/WatchDir', { path: '/tmp/c/none' }, 'not_found'],
        ['filesystem.Filesystem/WatchDir', { path: '/tmp/c/file' }, 'invalid_argument'],
      ] as const) {
        const { status, messages } = await stream(procedure, [body]);
        expect([status, messages.map(({ json }) => json)], procedure).toEqual([
          200,
          [{ error: { code, message: expect.stringMatching(/./) } }],
        ]);
      }
    });
  });
});
