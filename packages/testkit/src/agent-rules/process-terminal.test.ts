import { Code } from '@connectrpc/connect';
import { Signal } from '@skerry/envd-client/process';
import { describe, expect, it } from 'vitest';
import { testAgents } from './agent-under-test.ts';
import { begin, byPid, pty, runScript, sh, trace } from './process-events.ts';

testAgents((agent) => {
  const sized = (cols: number, rows: number) => ({ pty: { size: { cols, rows } } });

  describe('a terminal', () => {
    it('rule 6.3-8: it is a session of its own with the size of the request, and all output comes as pty', async () => {
      const script =
        'tty; stty size; ps -o sid=,pgid=,tpgid=,pid= -p $$; echo err >&2; : < /dev/tty && echo controls';
      const {
        kinds,
        pid,
        pty: screen,
      } = await trace(agent.client.process.start({ ...sh(script), ...sized(100, 31) }));
      expect(kinds).toEqual(['pty', 'end']);
      const [tty, size, ids = '', ...rest] = screen.split('\r\n');
      expect(tty).toMatch(/^\/dev\/pts\/\d+$/);
      expect(size).toBe('31 100');
      expect(ids.trim().split(/\s+/).map(Number)).toEqual([pid, pid, pid, pid]);
      expect(rest).toEqual(['err', 'controls', '']);
    });

    it('rule 6.3-8: a process without one is in the group and the session of the agent, and has none', async () => {
      const group = sh('ps -o sid=,pgid= -p $$; tty; : 2>/dev/null < /dev/tty || echo none');
      const [first, second] = await Promise.all([
        trace(agent.client.process.start(group)),
        trace(agent.client.process.start(group)),
      ]);
      expect(first.stdout).toMatch(/^\s*\d+\s+\d+\nnot a tty\nnone\n$/);
      expect(second.stdout).toBe(first.stdout);
      expect(first.stdout.split('\n')[0]?.trim().split(/\s+/)).not.toContain(String(first.pid));
    });

    it('rule 6.2-4: Update sets its size and sends SIGWINCH to the programs on it', async () => {
      const script = 'trap "stty size; exit" WINCH; echo ready; while :; do sleep 0.05; done';
      const { pid, rest } = await begin(agent.client.process.start({ ...sh(script), ...sized(80, 24) }));
      let screen = '';
      for await (const { event } of rest) {
        if (event?.event.case !== 'data') continue;
        screen += Buffer.from(event.event.value.output.value ?? []).toString();
        if (screen === 'ready\r\n') await agent.client.process.update({ ...byPid(pid), ...sized(132, 43) });
      }
      expect(screen).toBe('ready\r\n43 132\r\n');
    });

    it.each([
      ['no pty', {}],
      ['no size', { pty: {} }],
      ['an empty size', { pty: { size: {} } }],
      ['no columns', sized(0, 40)],
      ['no rows', sized(40, 0)],
      ['more columns than there can be', sized(65_536, 40)],
    ])(
      'rule 11-12: an Update with %s is an invalid argument and leaves the size as it was',
      async (_title, update) => {
        const { pid } = await begin(
          agent.client.process.start({ ...sh('read a; stty size'), ...sized(90, 20) }),
        );
        const reading = trace(agent.client.process.connect({ ...byPid(pid), skerryOffset: 0n }));
        await expect(agent.client.process.update({ ...byPid(pid), ...update })).rejects.toMatchObject({
          code: Code.InvalidArgument,
        });
        await agent.client.process.sendInput({ ...byPid(pid), input: pty('\r') });
        expect((await reading).pty).toBe('\r\n20 90\r\n');
      },
    );

    it.each([
      ['no size', { pty: {} }],
      ['no columns', sized(0, 24)],
      ['no rows', sized(80, 0)],
      ['more columns than there can be', sized(65_536, 24)],
    ])('rule 11-12: a Start with %s is an invalid argument and starts nothing', async (_title, terminal) => {
      const mark = `/tmp/started-${crypto.randomUUID()}`;
      await expect(
        trace(agent.client.process.start({ ...sh(`touch ${mark}`), ...terminal })),
      ).rejects.toMatchObject({
        code: Code.InvalidArgument,
      });
      expect((await runScript(agent.client, `sleep 0.2; ls ${mark}`)).end?.exitCode).toBe(2);
    });

    it('rule 6.2-7: a signal ends its process', async () => {
      const { pid, rest } = await begin(agent.client.process.start({ ...sh('sleep 100'), ...sized(80, 24) }));
      await agent.client.process.sendSignal({ ...byPid(pid), signal: Signal.SIGKILL });
      const ends: unknown[] = [];
      for await (const { event } of rest) if (event?.event.case === 'end') ends.push(event.event.value);
      expect(ends).toMatchObject([{ exitCode: -1, status: 'signal: killed' }]);
    });
  });
});
