import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { findTraces } from '@skerry/runtime/testing';
import { Sandbox } from '@skerry/sdk';
import { afterAll, describe, expect, it } from 'vitest';
import { runProgram } from '../stack/run-program.ts';
import { skerryProgram } from '../stack/skerry-program.ts';
import { type Stack, startStack } from '../stack/stack.ts';
import { useSuccessiveServers } from '../stack/successive-servers.ts';

const detailOf = async (stack: Stack, sandboxID: string) =>
  (await stack.api.GET('/sandboxes/{sandboxID}', { params: { path: { sandboxID } } })).data;
const listed = async (stack: Stack): Promise<string[]> =>
  ((await stack.api.GET('/sandboxes')).data ?? []).map(({ sandboxID }) => sandboxID);

describe('a server that ends', () => {
  const servers = useSuccessiveServers();
  const { dataDir } = servers;

  it.each(['kill', 'stop'] as const)(
    'by %s leaves its sandboxes running, and the next one finds them with what runs inside',
    async (ending) => {
      const first = await servers.start();
      const { sandboxId } = await first.createSandbox({ metadata: { keep: 'yes' } });
      const before = await Sandbox.connect(sandboxId, first.connection);
      const counter = await before.commands.run(
        'for i in $(seq 100000); do echo $i > /tmp/count; sleep 0.02; done',
        { background: true, timeoutMs: 0 },
      );
      // The counter runs until its sandbox is killed, which is how it ends.
      counter.wait().catch(() => {});
      const detail = await detailOf(first, sandboxId);
      await servers.end(ending);

      const second = await servers.start();
      expect(second.address.apiKey).toBe(first.address.apiKey);
      expect(await listed(second)).toEqual([sandboxId]);
      expect(await detailOf(second, sandboxId)).toEqual({ ...detail, domain: second.address.domain });
      const after = await Sandbox.connect(sandboxId, second.connection);
      expect((await after.commands.list()).map(({ pid }) => pid)).toContain(counter.pid);
      const count = async (): Promise<number> => Number(await after.files.read('/tmp/count'));
      // The shell empties the file before it writes: a read in between finds nothing.
      await expect.poll(count).toBeGreaterThan(0);
      const seen = await count();
      await expect.poll(count).toBeGreaterThan(seen);
      expect(await after.kill()).toBe(true);
      await servers.end('stop');
    },
  );

  it('by SIGTERM lets a stream go on to its end, begins no work, and is alive but not ready meanwhile', async () => {
    const server = await servers.start();
    const { sandboxId } = await server.createSandbox();
    const sandbox = await Sandbox.connect(sandboxId, server.connection);
    const waiting = await sandbox.commands.run('cat; echo done', { background: true, stdin: true });
    const { apiUrl, apiKey } = server.address;
    const probe = async (path: string) => {
      const answer = await fetch(`${apiUrl}${path}`);
      return { status: answer.status, body: await answer.json() };
    };
    expect(await probe('/readyz')).toEqual({ status: 200, body: { status: 'ready' } });

    server.signal('SIGTERM');
    await expect
      .poll(() => probe('/readyz'))
      .toEqual({ status: 503, body: { status: 'not ready', reasons: ['draining'] } });
    expect(await probe('/livez')).toEqual({ status: 200, body: { status: 'alive' } });
    const refused = await fetch(`${apiUrl}/v2/sandboxes`, {
      method: 'POST',
      headers: { 'x-api-key': apiKey, 'content-type': 'application/json' },
      body: JSON.stringify({ templateID: 'base' }),
    });
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    expect(await refused.json()).toEqual({
      code: 503,
      message: 'the server is shutting down',
      error_code: 'server_shutting_down',
    });
    expect(await listed(server)).toEqual([sandboxId]);
    expect((await Sandbox.connect(sandboxId, server.connection)).sandboxId).toBe(sandboxId);
    await waiting.closeStdin();
    expect((await waiting.wait()).stdout).toBe('done\n');
    expect(await servers.ended()).toBe(0);

    const next = await servers.start();
    expect(await listed(next)).toEqual([sandboxId]);
    await Sandbox.kill(sandboxId, next.connection);
  });

  it('with kill -9 in the middle of creates loses none that it acknowledged and keeps none half made', async () => {
    const first = await servers.start();
    const acknowledged: string[] = [];
    const create = async (): Promise<void> => void acknowledged.push((await first.createSandbox()).sandboxId);
    const early = Array.from({ length: 3 }, async (_, index) => {
      await delay(index * 60);
      await create();
    });
    await Promise.any(early);
    const creates = [...early, ...Array.from({ length: 8 }, create)];
    const settled = Promise.allSettled(creates);
    await delay(20);
    await servers.end('kill');
    await settled;
    expect(acknowledged.length).toBeLessThan(creates.length);

    const second = await servers.start();
    const found = await listed(second);
    expect(found).toEqual(expect.arrayContaining(acknowledged));
    for (const id of found) {
      const sandbox = await Sandbox.connect(id, second.connection);
      expect((await sandbox.commands.run('echo usable')).stdout).toBe('usable\n');
    }
    await expect.poll(() => readdirSync(join(dataDir, 'sandboxes')).toSorted()).toEqual(found.toSorted());
    for (const id of found) await Sandbox.kill(id, second.connection);
  });

  it('with kill -9 between acting and answering does not act again for the same Idempotency-Key', async () => {
    const create = (stack: Stack, key: string) =>
      stack.api.POST('/v2/sandboxes', {
        params: { header: { 'Idempotency-Key': key } },
        body: { templateID: 'base', metadata: { key } },
      });
    const first = await servers.start();
    const done = await create(first, 'done');
    const cut = Array.from({ length: 6 }, (_, index) => create(first, `cut-${index}`).catch(() => undefined));
    // Some have their answer by then, and some have not.
    await Promise.any([Promise.race(cut), delay(250)]);
    await servers.end('kill');
    const answers = await Promise.all(cut);

    const second = await servers.start();
    expect((await create(second, 'done')).data).toEqual(done.data);
    for (const [index, answer] of answers.entries()) {
      const key = `cut-${index}`;
      const repeated = await create(second, key);
      if (answer?.data !== undefined) expect(repeated.data).toEqual(answer.data);
      else if (repeated.data === undefined)
        expect(repeated.error).toMatchObject({ code: 422, error_code: 'idempotency_outcome_unknown' });
      const made = (await second.api.GET('/sandboxes', { params: { query: { metadata: `key=${key}` } } }))
        .data;
      expect(made?.length).toBeLessThanOrEqual(1);
    }
    for (const id of await listed(second)) await Sandbox.kill(id, second.connection);
    await servers.end('stop');
  });

  it('acts at its next start on what expired meanwhile', async () => {
    const first = await servers.start();
    const { sandboxId } = await first.createSandbox({ timeoutSeconds: 2 });
    await servers.end('kill');
    await delay(2500);
    const second = await servers.start();
    expect(await listed(second)).toEqual([]);
    await expect.poll(() => findTraces({ dataDir, ids: [sandboxId] })).toEqual([]);
  });
});

describe('skerry down', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'skerry-durable-'));
  afterAll(async () => {
    await runProgram(skerryProgram, ['down', '--data', dataDir]);
    rmSync(dataDir, { recursive: true });
  });

  it('leaves no process, mount, namespace, cgroup, interface, loop device or table behind', async () => {
    const stack = await startStack({ dataDir });
    const sandboxes = await Promise.all([stack.createSandbox(), stack.createSandbox()]);
    const ids = sandboxes.map(({ sandboxId }) => sandboxId);
    for (const id of ids) {
      const sandbox = await Sandbox.connect(id, stack.connection);
      await sandbox.commands.run('sleep 1000', { background: true, timeoutMs: 0 });
    }
    const traces = await findTraces({ dataDir, ids });
    const holders = liveNamespaces();
    const kinds = new Set(traces.map((trace) => trace.split(' ')[0]));
    expect([...kinds]).toEqual(expect.arrayContaining(['cgroup', 'folder', 'mount', 'process', 'slot']));
    const namespaces = namespacesOf(traces);
    expect(namespaces.size).toBeGreaterThanOrEqual(12);
    const interfaces = interfacesOf(traces);
    expect(interfaces.filter((name) => readdirSync('/sys/class/net').includes(name))).toEqual(interfaces);
    expect(interfaces).toHaveLength(2);

    expect(await runProgram(skerryProgram, ['down', '--data', dataDir])).toBe('stopped 2 sandboxes\n');

    expect(await findTraces({ dataDir, ids })).toEqual([]);
    expect(processesOf(dataDir)).toEqual([]);
    // Processes and mounts must be those of before: the kernel gives the numbers of what is gone to the next ones.
    const left = [...liveNamespaces()].filter(
      ([holder, names]) => holders.has(holder) && names.some((name) => namespaces.has(name)),
    );
    expect(left).toEqual([]);
    expect(readdirSync('/sys/class/net').filter((name) => interfaces.includes(name))).toEqual([]);
    if (!isHostShared())
      expect(execFileSync('nft', ['list', 'tables'], { encoding: 'utf8' })).not.toContain('skerry');
    // Idempotent, and the folder can be used again.
    expect(await runProgram(skerryProgram, ['down', '--data', dataDir])).toBe(
      `nothing to stop: ${dataDir} has no server and no sandbox\n`,
    );
    const again = await startStack({ dataDir });
    expect(await listed(again)).toEqual([]);
  });
});

/** The namespaces of the processes among the traces that are not those of this process. */
function namespacesOf(traces: string[]): Set<string> {
  const own = readNamespaces('self');
  const pids = traces
    .filter((trace) => trace.startsWith('process '))
    .map((trace) => trace.split(' ')[1] ?? '');
  return new Set(pids.flatMap(readNamespaces).filter((name) => !own.includes(name)));
}

/** Every namespace that a process, by its number and the time of its start, or a mount, by its line, keeps alive. */
function liveNamespaces(): Map<string, string[]> {
  const holders = new Map<string, string[]>();
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name)))
    holders.set(`process ${pid} of ${readStart(pid)}`, readNamespaces(pid));
  for (const line of readFileSync('/proc/self/mountinfo', 'utf8').split('\n'))
    holders.set(line, line.match(/[a-z]+:\[\d+\]/g) ?? []);
  return holders;
}

/** When a process started, in ticks since the host did (proc_pid_stat(5)). */
function readStart(pid: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ')[19];
  } catch {
    return undefined; // The process has just ended.
  }
}

function readNamespaces(pid: string): string[] {
  try {
    return readdirSync(`/proc/${pid}/ns`).map((name) => readlinkSync(`/proc/${pid}/ns/${name}`));
  } catch {
    return []; // The process has just ended.
  }
}

/** The host's ends of the links of the slots among the traces. */
function interfacesOf(traces: string[]): string[] {
  return traces.flatMap((trace) => {
    const slot = /^slot (\d+) /.exec(trace)?.[1];
    return slot === undefined ? [] : [`skv${slot}`];
  });
}

/** Whether other servers have sandboxes on this host: then the rules that all share must stay. */
function isHostShared(): boolean {
  return existsSync('/run/skerry/slots');
}

/** Command lines, of this or any other user, that name the folder. */
function processesOf(folder: string): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
      } catch {
        return ''; // The process has just ended.
      }
    })
    .filter((line) => line.includes(folder));
}
