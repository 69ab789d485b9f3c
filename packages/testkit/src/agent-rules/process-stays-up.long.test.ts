import { setTimeout as delay } from 'node:timers/promises';
import { Code } from '@connectrpc/connect';
import { Signal } from '@skerry/envd-client/process';
import { afterEach, describe, expect, it } from 'vitest';
import type { Agent } from './agent.ts';
import { testAgents } from './agent-under-test.ts';
import { begin, byPid, byTag, runScript, sh, stdin } from './process-events.ts';

const MEBIBYTE = 1024 * 1024;
/** What an idle agent answers within milliseconds, a busy host a little later, and an agent without anything of its own not at all. */
const PATIENCE_MS = 20_000;

testAgents((suite) => {
  let agent: Agent;
  /** An agent that has not done anything yet: what it loads or makes at its first use is still to come. */
  const renew = async (): Promise<void> => {
    agent = await suite.another();
  };
  afterEach(() => agent?.end());
  const asRoot = () => agent.clientOf({ user: 'root' });

  const within = <T>(promise: Promise<T>, what: string): Promise<T> =>
    Promise.race([
      promise,
      delay(PATIENCE_MS).then((): never => {
        throw new Error(`${what} took more than ${PATIENCE_MS} ms`);
      }),
    ]);
  /** Starts something that goes on until `end`. */
  const startBomb = async (script: string, client = agent.client): Promise<void> => {
    await begin(client.process.start({ ...sh(script), tag: 'bomb', stdin: false }));
  };
  const answers = async (): Promise<void> => {
    const health = await within(agent.client.files.GET('/health'), 'health');
    expect(health.response.status).toBe(204);
    const { processes } = await within(agent.client.process.list({}), 'List');
    expect(processes.some(({ tag }) => tag === 'bomb')).toBe(true);
    const { entry } = await within(agent.client.filesystem.stat({ path: '/etc/hostname' }), 'Stat');
    expect(entry?.name).toBe('hostname');
    expect(await within(agent.files.read('/etc/hostname'), 'a download')).not.toBe('');
  };
  const signalBomb = () => agent.client.process.sendSignal({ ...byTag('bomb'), signal: Signal.SIGKILL });
  const works = async (): Promise<void> => {
    expect((await within(runScript(agent.client, 'echo works'), 'a command')).stdout).toBe('works\n');
    await within(agent.files.write('/tmp/after', 'written'), 'an upload');
    expect(await agent.files.read('/tmp/after')).toBe('written');
  };
  /** The agent is the parent of what it starts. Another number or time means another agent. */
  const identity = async (): Promise<string> =>
    (await runScript(agent.client, 'ps -o pid=,lstart= -p $PPID')).stdout;

  describe('the agent answers and lives', () => {
    suite.needs('sandbox');

    it('rule 11-13, 10-48: while a hundred processes burn all cpu, and starts another', async () => {
      await renew();
      const before = await identity();
      await startBomb('for i in {1..100}; do (while :; do :; done) & done; wait');
      await delay(1_000);
      for (let times = 0; times < 3; times += 1) {
        await answers();
        await works();
      }
      await runScript(asRoot(), 'pkill -KILL -u user');
      expect(await identity()).toBe(before);
    });

    it('rule 11-13, 10-48: while processes use up all memory repeatedly, and the kernel kills those processes', async () => {
      await renew();
      const before = await identity();
      const hog = `perl -e 'my @kept; while (1) { push @kept, "x" x (16 << 20) }'`;
      await startBomb(`for i in 1 2; do (while :; do ${hog}; echo $? >> /tmp/killed; done) & done; wait`);
      await expect.poll(() => agent.files.exists('/tmp/killed')).toBe(true);
      for (let times = 0; times < 5; times += 1) {
        await answers();
        await delay(300);
      }
      await runScript(asRoot(), 'pkill -KILL -u user');
      await works();
      expect(await identity()).toBe(before);
      expect((await runScript(agent.client, 'sort -u /tmp/killed')).stdout).toBe('137\n');
    });

    it('rule 11-13, 10-48: without room for another process or thread, though it has not used its own yet', async () => {
      await renew();
      const fill = `import os, sys, time
while True:
    try:
        if os.fork() == 0:
            time.sleep(1000)
            os._exit(0)
    except OSError:
        open('/tmp/full', 'a').close()
        time.sleep(0.05)
`;
      await startBomb(`exec python3 -c "$FILL"`.replace('$FILL', fill.replaceAll('"', '\\"')));
      await expect.poll(() => agent.files.exists('/tmp/full')).toBe(true);
      await answers();
      await within(agent.files.write('/tmp/written', 'in a crowd'), 'an upload');
      expect(
        (await within(agent.client.filesystem.listDir({ path: '/tmp' }), 'ListDir')).entries.length,
      ).toBeGreaterThan(1);
      const { watcherId } = await within(
        agent.client.filesystem.createWatcher({ path: '/tmp' }),
        'CreateWatcher',
      );
      await agent.files.write('/tmp/seen', 'x');
      await expect
        .poll(async () => (await agent.client.filesystem.getWatcherEvents({ watcherId })).events.length)
        .toBeGreaterThan(0);
      // The children of the killed process stay, so there is still room for none.
      await expect(runScript(agent.client, 'true')).rejects.toMatchObject({ code: Code.ResourceExhausted });
    });

    it.each([
      ['byte', 'avail', 'fallocate -l 1900M /tmp/full/most; cat /dev/zero > /tmp/full/zeros'],
      ['inode', 'iavail', `perl -e 'for (1 .. 1000000) { open(my $f, ">", "/tmp/full/$_") or last }'`],
    ])(
      'rule 11-13, 10-48: on a disk without a free %s, and works again when there is room',
      async (_what, column, fill) => {
        await renew();
        const before = await identity();
        await startBomb(`mkdir /tmp/full; ${fill}; sleep 1000`, asRoot());
        const left = async () =>
          Number((await runScript(agent.client, `df --output=${column} / | tail -1`)).stdout);
        await expect.poll(left, { timeout: 120_000, interval: 500 }).toBeLessThan(1024);
        await answers();
        expect((await within(runScript(agent.client, 'echo runs'), 'a command')).stdout).toBe('runs\n');
        expect((await agent.plain.put('/tmp/more', 'x'.repeat(MEBIBYTE))).status).toBe(507);
        await signalBomb();
        await agent.client.filesystem.remove({ path: '/tmp/full' });
        await works();
        expect(await identity()).toBe(before);
      },
    );

    it('rule 11-13, 10-48: while processes open files and pipes until they get no more', async () => {
      await renew();
      const before = await identity();
      const open = `perl -e 'my @kept; while (pipe(my $r, my $w)) { push @kept, $r, $w } open my $f, ">>", "/tmp/no-more"; print $f "x"; close $kept[0]; sleep 1000'`;
      await startBomb(`for i in {1..10}; do ${open} & done; wait`);
      await delay(2_000);
      await answers();
      await works();
      await signalBomb();
      expect(await identity()).toBe(before);
    });
  });

  describe('what the agent keeps is bounded', () => {
    const agentMemory = async (): Promise<number> =>
      Number((await runScript(agent.client, "grep VmRSS /proc/$PPID/status | tr -dc '0-9'")).stdout) * 1024;

    it('rule 10-48: its log, however often a caller makes it complain', async () => {
      await renew();
      const { pid } = await begin(
        agent.client.process.start({ ...sh('exec sleep 1000'), stdin: false, tag: 'bomb' }),
      );
      const complain = async (): Promise<void> => {
        for (let times = 0; times < 200; times += 1) {
          const call = agent.client.process.sendInput({ ...byPid(pid), input: stdin('x') });
          await expect(call).rejects.toMatchObject({ code: Code.Internal });
        }
      };
      await Promise.all(Array.from({ length: 8 }, complain));
      const sizes = (await runScript(asRoot(), `stat -c %s ${agent.innerSocketDir}/envd.log*`)).stdout
        .trim()
        .split('\n')
        .map(Number);
      expect(sizes.reduce((sum, size) => sum + size)).toBeLessThanOrEqual(MEBIBYTE);
      expect(sizes.length).toBeGreaterThan(1);
      await answers();
    });

    it('rule 10-48: what it holds of the output of many processes whose readers do not read', async () => {
      await renew();
      await runScript(agent.client, 'true');
      const before = await agentMemory();
      const stuck = await Promise.all(
        Array.from({ length: 60 }, () =>
          begin(agent.client.process.start({ ...sh('cat /dev/zero'), tag: 'bomb' })),
        ),
      );
      let last = before;
      /** How much larger it is than at the look before, a second ago. */
      const growth = async (): Promise<number> => {
        await answers();
        await delay(1_000);
        const now = await agentMemory();
        const grownBytes = now - last;
        last = now;
        return grownBytes / MEBIBYTE;
      };
      // The processes write gigabytes a second, so without a bound it never stops growing.
      await expect.poll(growth, { interval: 500 }).toBeLessThan(4);
      // Ten times what the agent keeps of all output: the collector decides when it returns the rest to the host.
      expect((last - before) / MEBIBYTE).toBeLessThan(320);
      await Promise.all(
        stuck.map(({ pid }) => agent.client.process.sendSignal({ ...byPid(pid), signal: Signal.SIGKILL })),
      );
    });
  });
});
