import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Sandbox, SandboxError } from '@skerry/sdk';
import { build, Template, waitForFile } from '@skerry/sdk/template';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Cluster, startCluster } from '../cluster.ts';
import { createOn } from './counter.ts';

let cluster: Cluster;

beforeAll(async () => {
  cluster = await startCluster({ nodes: ['a', 'b'], serverArgs: ['--node-dead-after', '30s'] });
});
afterAll(() => cluster?.close());

/** Starts a program that counts, so that a break in its run shows. */
const count = async (sandbox: Sandbox): Promise<() => Promise<number>> => {
  const script = 'i=0; while true; do i=$((i+1)); echo $i > /tmp/count; sleep 0.1; done';
  await sandbox.commands.run(`sh -c '${script}'`, { background: true });
  const read = async (): Promise<number> => Number(await sandbox.files.read('/tmp/count'));
  await expect.poll(read).toBeGreaterThan(0);
  return read;
};

const bothReady = () => expect.poll(() => cluster.states()).toEqual({ a: 'ready', b: 'ready' });

describe('a cluster', () => {
  it('keeps sandboxes and streams over a cut of five seconds', async () => {
    const sandbox = await createOn(cluster, 'b');
    const lines: string[] = [];
    const stream = await sandbox.commands.run('i=0; while true; do i=$((i+1)); echo $i; sleep 0.1; done', {
      background: true,
      onStdout: (text) => void lines.push(...text.trim().split('\n')),
    });
    await expect.poll(() => lines.length).toBeGreaterThan(3);
    await cluster.lab.cut('b');
    await new Promise((resolve) => setTimeout(resolve, 5_000));
    const before = lines.length;
    await cluster.lab.mend('b');
    await expect.poll(() => lines.length).toBeGreaterThan(before + 40);
    expect(lines).toEqual(lines.map((_, index) => String(index + 1)));
    await stream.kill();
    await bothReady();
    await sandbox.kill();
  });

  it('says so while the only node with the files of a template is away, and copies them when it is back', async () => {
    await build(Template().fromTemplate('base').run('echo built > /home/user/file'), 'built', {
      ...cluster.connection,
    }).result();
    const create = () => Sandbox.create({ ...cluster.connection, template: 'built', timeoutMs: 600_000 });
    await cluster.lab.cut('a');
    await expect.poll(() => cluster.states()).toMatchObject({ a: 'unreachable' });
    await expect(create()).rejects.toThrow('no node that answers now has the files of the template');
    await cluster.lab.mend('a');
    await bothReady();
    await cluster.skerry('node', 'cordon', 'a');
    const sandbox = await create();
    await cluster.skerry('node', 'uncordon', 'a');
    expect(await cluster.nodeOf(sandbox.sandboxId)).toBe('b');
    expect(await sandbox.files.read('/home/user/file')).toBe('built\n');
    await sandbox.kill();
  });

  it('begins with the checkpoint of a template where it was taken, and starts its command again elsewhere', async () => {
    const template = Template()
      .fromTemplate('base')
      .start('echo $$ > /tmp/started; sleep 1000', { ready: waitForFile('/tmp/started') });
    await build(template, 'started', cluster.connection).result();
    const create = () => Sandbox.create({ ...cluster.connection, template: 'started', timeoutMs: 600_000 });
    const near = [await create(), await create()];
    await cluster.skerry('node', 'cordon', 'a');
    const far = await create();
    await cluster.skerry('node', 'uncordon', 'a');
    const all = [...near, far];
    expect(await Promise.all(all.map(({ sandboxId }) => cluster.nodeOf(sandboxId)))).toEqual(['a', 'a', 'b']);
    for (const sandbox of all) expect(await sandbox.files.read('/tmp/started')).toMatch(/^[0-9]+\n$/);
    await Promise.all(all.map((sandbox) => sandbox.kill()));
  });

  it('fails a build whose node dies, with a reason, and builds on another one', async () => {
    const template = Template().fromTemplate('base').run('echo ready; sleep 30');
    const dying = build(template, 'slow', { ...cluster.connection });
    for await (const { message } of dying) if (message.includes('ready')) break;
    await cluster.node('a').stop('SIGKILL');
    await expect(dying.result()).rejects.toThrow('node "a" cannot be reached');
    await build(Template().fromTemplate('base').run('true'), 'quick', { ...cluster.connection }).result();
    await cluster.startNode('a');
    await bothReady();
    const left = () => readdirSync(join(cluster.nodeFolder('a'), 'sandboxes'));
    await expect.poll(left).toEqual([]);
  });

  it('keeps sandboxes when their node is killed, and when it hangs', async () => {
    const [sandbox, near] = [await createOn(cluster, 'b'), await createOn(cluster, 'a')];
    const read = await count(sandbox);
    await cluster.node('b').stop('SIGKILL');
    await expect.poll(() => cluster.states()).toMatchObject({ b: 'unreachable' });
    await expect(sandbox.commands.run('true')).rejects.toBeInstanceOf(SandboxError);
    expect((await near.commands.run('echo here')).stdout).toBe('here\n');
    await cluster.startNode('b');
    await bothReady();
    const first = await read();
    await expect.poll(read).toBeGreaterThan(first);

    cluster.node('b').signal('SIGSTOP');
    await expect.poll(() => cluster.states()).toMatchObject({ b: 'unreachable' });
    cluster.node('b').signal('SIGCONT');
    await bothReady();
    const second = await read();
    expect(second).toBeGreaterThan(first);
    await Promise.all([sandbox.kill(), near.kill()]);
  });

  it('finds all sandboxes again when the server is killed, and ends a create that was under way', async () => {
    const [one, two] = [await createOn(cluster, 'a'), await createOn(cluster, 'b')];
    const reads = await Promise.all([count(one), count(two)]);
    const before = await Promise.all(reads.map((read) => read()));
    const halfDone = Sandbox.create({ ...cluster.connection, timeoutMs: 600_000 }).catch(() => undefined);
    await cluster.server().stop('SIGKILL');
    await halfDone;
    await cluster.startServer();
    await bothReady();
    const after = await Promise.all(reads.map((read) => read()));
    expect(after.every((now, index) => now > (before[index] as number))).toBe(true);
    const { data: nodes = [] } = await cluster.api.GET('/skerry/v1/nodes');
    expect(nodes.map(({ epoch }) => epoch)).toEqual([2, 2]);
    await Promise.all([one.kill(), two.kill()]);
    const left = (): number[] =>
      ['a', 'b'].map((name) => {
        const folder = join(cluster.nodeFolder(name), 'sandboxes');
        return existsSync(folder) ? readdirSync(folder).length : 0;
      });
    await expect.poll(left).toEqual([0, 0]);
  });

  it('leaves sandboxes alone when the server is taken down, and takes no data folder of the other kind', async () => {
    const sandbox = await createOn(cluster, 'a');
    expect(await cluster.run('down', '--data', cluster.serverFolder)).toContain('stopped 0 sandboxes');
    await expect(cluster.run('up', '--port', '0', '--data', cluster.serverFolder)).rejects.toThrow(
      'belongs to "skerry server": choose another data folder for "skerry up"',
    );
    await cluster.startServer();
    await bothReady();
    expect((await sandbox.commands.run('echo here')).stdout).toBe('here\n');
    await sandbox.kill();
  });

  it('forgets a node that does not come back, and keeps the others', async () => {
    const [kept, gone] = [await createOn(cluster, 'a'), await createOn(cluster, 'b')];
    await gone.pause({ memory: false });
    await cluster.node('b').stop('SIGKILL');
    await expect.poll(() => cluster.states()).toMatchObject({ b: 'unreachable' });
    await cluster.skerry('node', 'forget', 'b');
    expect(await cluster.states()).toEqual({ a: 'ready' });
    await expect(Sandbox.connect(gone.sandboxId, cluster.connection)).rejects.toMatchObject({
      code: 'not_found',
    });
    expect((await kept.commands.run('echo here')).stdout).toBe('here\n');
    await kept.kill();
  });
});
