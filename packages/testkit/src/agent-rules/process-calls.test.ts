import { Code } from '@connectrpc/connect';
import { Signal } from '@skerry/envd-client/process';
import { describe, expect, it } from 'vitest';
import { testAgents } from './agent-under-test.ts';
import { begin, byPid, byTag, runScript, sh, stdin, trace } from './process-events.ts';
import { postCall } from './raw-stream.ts';

const SLEEP = { process: { cmd: 'sleep', args: ['100'] } };

testAgents((agent) => {
  const kill = (pid: number) => agent.client.process.sendSignal({ ...byPid(pid), signal: Signal.SIGKILL });
  const listed = async (): Promise<number[]> =>
    (await agent.client.process.list({})).processes.map(({ pid }) => pid);

  describe('List', () => {
    it('rule 6.2-1: it answers the processes with config, pid and tag', async () => {
      const config = { cmd: 'sleep', args: ['100'], envs: { A: 'ä' }, cwd: '/usr' };
      const { pid } = await begin(agent.client.process.start({ process: config, tag: 'nap ✓' }));
      const { status, json } = await postCall(agent.rpc, 'process.Process/List', {});
      expect(status).toBe(200);
      const { processes } = json as { processes: { pid: number }[] };
      expect(processes.filter((each) => each.pid === pid)).toEqual([{ config, pid, tag: 'nap ✓' }]);
      await kill(pid);
    });

    it('rule 6.3-21: it shows what was started through the agent and lives, nothing else', async () => {
      const first = await begin(agent.client.process.start(sh('sleep 100 & wait')));
      const second = await begin(agent.client.process.start(SLEEP));
      const { pid: ended } = await runScript(agent.client, 'true');
      const { stdout } = await runScript(agent.client, `pgrep -P ${first.pid}`);
      const pids = await listed();
      expect(pids).toEqual(expect.arrayContaining([first.pid, second.pid]));
      for (const other of [1, ended, Number(stdout)]) expect(pids).not.toContain(other);
      await kill(second.pid);
      for await (const _ of second.rest);
      expect(await listed()).not.toContain(second.pid);
      await kill(first.pid);
      await runScript(agent.client, `kill ${Number(stdout)}`);
    });
  });

  describe('SendSignal', () => {
    it.each([
      [Signal.SIGTERM, 'signal: terminated'],
      [Signal.SIGKILL, 'signal: killed'],
    ])('rule 6.2-7: it sends %i, and the process ends with "%s"', async (signal, status) => {
      const { pid, rest } = await begin(agent.client.process.start(SLEEP));
      expect(await postCall(agent.rpc, 'process.Process/SendSignal', { process: { pid }, signal })).toEqual({
        status: 200,
        json: {},
      });
      const ends: unknown[] = [];
      for await (const { event } of rest)
        if (event?.event.case === 'end') ends.push(event.event.value.status);
      expect(ends).toEqual([status]);
    });

    it('rule 6.2-7: SIGTERM may be caught by the process', async () => {
      const script = 'trap "echo caught; exit 4" TERM; echo ready; while :; do sleep 0.05; done';
      const { pid, rest } = await begin(agent.client.process.start(sh(script)));
      let text = '';
      let exitCode: number | undefined;
      for await (const { event } of rest) {
        if (event?.event.case === 'data') {
          text += Buffer.from(event.event.value.output.value ?? []).toString();
          if (text === 'ready\n')
            await agent.client.process.sendSignal({ ...byPid(pid), signal: Signal.SIGTERM });
        }
        if (event?.event.case === 'end') exitCode = event.event.value.exitCode;
      }
      expect([text, exitCode]).toEqual(['ready\ncaught\n', 4]);
    });

    it('rule 6.3-16, 10-34: it reaches one process, not the group it is in', async () => {
      const { pid, rest } = await begin(agent.client.process.start(sh('sleep 100 & echo $!; wait')));
      let child = '';
      for await (const { event } of rest) {
        if (event?.event.case === 'data')
          child += Buffer.from(event.event.value.output.value ?? []).toString();
        if (child.endsWith('\n')) break;
      }
      const groups = `ps -o pgid= -p ${pid},${Number(child)} | sort -u | wc -l`;
      expect((await runScript(agent.client, groups)).stdout).toBe('1\n');
      await kill(pid);
      const alive = `[ -e /proc/${pid} ] || echo gone; [ -e /proc/${Number(child)} ] && echo child`;
      await expect.poll(async () => (await runScript(agent.client, alive)).stdout).toBe('gone\nchild\n');
      await runScript(agent.client, `kill ${Number(child)}`);
    });

    it('rule 6.3-16: other signals answer unimplemented and reach no process, and an ended process answers not_found', async () => {
      const { pid, rest } = await begin(agent.client.process.start(SLEEP));
      for (const signal of [0, 1, 2, 19, 34]) {
        await expect(
          agent.client.process.sendSignal({ ...byPid(pid), signal: signal as Signal }),
        ).rejects.toMatchObject({
          code: Code.Unimplemented,
        });
      }
      expect(await listed()).toContain(pid);
      await kill(pid);
      for await (const _ of rest);
      await expect(kill(pid)).rejects.toMatchObject({ code: Code.NotFound });
      await expect(kill(999_999)).rejects.toMatchObject({ code: Code.NotFound });
    });
  });

  describe('naming a process', () => {
    it('rule 11-2: a tag is found past others, the latest started wins, and an unknown tag answers not_found', async () => {
      const other = await begin(agent.client.process.start({ ...SLEEP, tag: 'other' }));
      const older = await begin(agent.client.process.start({ ...SLEEP, tag: 'same' }));
      const newer = await begin(agent.client.process.start({ ...SLEEP, tag: 'same' }));
      const last = await begin(agent.client.process.start({ ...SLEEP, tag: 'last' }));
      const found = async (tag: string): Promise<number> => {
        const controller = new AbortController();
        const { pid } = await begin(agent.client.process.connect(byTag(tag), { signal: controller.signal }));
        controller.abort();
        return pid;
      };
      expect([await found('other'), await found('same'), await found('last')]).toEqual([
        other.pid,
        newer.pid,
        last.pid,
      ]);
      await kill(newer.pid);
      for await (const _ of newer.rest);
      const ended = await trace(agent.client.process.connect(byTag('same')));
      expect([ended.pid, ended.kinds]).toEqual([newer.pid, ['end']]);
      await expect(found('nobody')).rejects.toMatchObject({ code: Code.NotFound });
      for (const { pid } of [other, older, last]) await kill(pid);
    });

    it('rule 6.3-19: an unknown process is not found, and an empty selector or input is unimplemented, on every call', async () => {
      const size = { cols: 80, rows: 24 };
      const calls = (target: object) => [
        trace(agent.client.process.connect(target)),
        agent.client.process.update({ ...target, pty: { size } }),
        agent.client.process.sendInput({ ...target, input: stdin('x') }),
        agent.client.process.sendSignal({ ...target, signal: Signal.SIGKILL }),
        agent.client.process.closeStdin(target),
        agent.client.process.streamInput(
          (async function* () {
            yield { event: { case: 'start' as const, value: target } };
          })(),
        ),
      ];
      for (const [target, code] of [
        [byPid(1), Code.NotFound],
        [byPid(999_999), Code.NotFound],
        [byTag('nobody'), Code.NotFound],
        [{}, Code.Unimplemented],
        [{ process: {} }, Code.Unimplemented],
      ] as const) {
        for (const call of await Promise.allSettled(calls(target)))
          expect(call).toMatchObject({ status: 'rejected', reason: { code } });
      }
      const { pid } = await begin(agent.client.process.start(SLEEP));
      await expect(agent.client.process.sendInput(byPid(pid))).rejects.toMatchObject({
        code: Code.Unimplemented,
      });
      await expect(agent.client.process.sendInput({ ...byPid(pid), input: {} })).rejects.toMatchObject({
        code: Code.Unimplemented,
      });
      await kill(pid);
    });
  });
});
