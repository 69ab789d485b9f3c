import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Sandbox, snapshots } from '@skerry/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findHelper } from '../faults/lifecycle/server-keeper.ts';
import { type Stack, startStack } from '../stack/stack.ts';
import { type DebianRegistry, makeBusyboxFolder, startDebianRegistry } from './debian-registry.ts';
import { createTemplateBuilds, messagesOf } from './template-builds.ts';

let stack: Stack;
let registry: DebianRegistry;
let busybox: string;
const dataDir = mkdtempSync(join(tmpdir(), 'skerry-ended-builds-'));

const startServer = async (...args: string[]): Promise<void> => {
  stack = await startStack({ dataDir, args: ['--registry', registry.host, ...args] });
};
beforeAll(async () => {
  registry = await startDebianRegistry();
  busybox = makeBusyboxFolder(['sh', 'cat', 'echo', 'id', 'sleep', 'mkdir']);
  await registry.push('test/busybox', { folder: busybox });
  await startServer();
});
afterAll(async () => {
  await stack.down();
  await registry[Symbol.asyncDispose]();
  for (const folder of [busybox, dataDir]) rmSync(folder, { recursive: true, force: true });
});

const { register, start, readStatus, waitForEnd, build } = createTemplateBuilds(() => stack);

const fromBusybox = () => ({ fromImage: `${registry.host}/test/busybox` });
const create = (template: string): Promise<Sandbox> =>
  Sandbox.create({ ...stack.connection, template, timeoutMs: 120_000 });
const listImages = (): string[] => readdirSync(join(dataDir, 'templates'));
const removeTemplate = async (templateID: string): Promise<number> =>
  (await stack.api.DELETE('/templates/{templateID}', { params: { path: { templateID } } })).response.status;

describe('a build that does not reach its end', () => {
  it.each([
    [
      'an answer with a status that HTTP does not have',
      'HTTP/1.1 600 X\\r\\nContent-Length: 0\\r\\n\\r\\n',
      '',
    ],
    ['an answer without an end', 'HTTP/1.1 200 OK\\r\\nContent-Type: text/plain\\r\\n\\r\\n', 'x'],
  ])('fails and ends nothing else when a step impersonates the agent: %s', async (_what, head, endless) => {
    const impostor = `cat > /tmp/impostor.py <<'END'
import os, socket, threading
path = '/run/envd/http.sock'
os.unlink(path)
server = socket.socket(socket.AF_UNIX); server.bind(path); server.listen(50); os.chmod(path, 0o777)
open('/tmp/ready', 'w').close()
def answer(client):
    try:
        client.recv(65536); client.sendall(b'${head}')
        while b'${endless}': client.sendall(b'${endless}' * 65536)
        client.close()
    except OSError: pass
while True: threading.Thread(target=answer, args=(server.accept()[0],), daemon=True).start()
END
setsid python3 /tmp/impostor.py >/dev/null 2>&1 </dev/null & until [ -e /tmp/ready ]; do sleep 0.05; done`;
    const steps = [
      { type: 'RUN', args: [impostor, 'root'] },
      { type: 'RUN', args: ['echo never'] },
    ];
    expect(await build('impostor', { fromImage: 'e2bdev/base', steps })).toMatchObject({ status: 'error' });
    const after = await build('after', { ...fromBusybox(), steps: [{ type: 'RUN', args: ['echo lives'] }] });
    expect(after.reason).toBeUndefined();
  });

  it('is deleted while it is built, which leaves nothing, and its name can be built again', async () => {
    const [before, begun] = [listImages(), 'begun, and then deleted'];
    const registered = await register('ended');
    const steps = [{ type: 'RUN', args: [`echo '${begun}'; sleep 600`] }];
    await start(registered, { ...fromBusybox(), steps });
    expect((await readStatus(registered)).status).toBe('building');
    await expect.poll(async () => messagesOf(await readStatus(registered))).toContain(begun);
    expect(readdirSync(join(dataDir, 'sandboxes'))).not.toEqual([]);
    expect(await removeTemplate('ended')).toBe(204);
    await expect(readStatus(registered)).rejects.toThrow('404');
    await expect.poll(() => readdirSync(join(dataDir, 'sandboxes'))).toEqual([]);
    const made = () => listImages().filter((name) => !before.includes(name) && name.startsWith('.'));
    await expect.poll(made).toEqual([]);
    expect(await build('ended', fromBusybox())).toMatchObject({ status: 'ready' });
    expect(await removeTemplate('ended')).toBe(204);
  });

  it('leaves the template to the build that was registered last when two of its name run at once, whichever ends last', async () => {
    const toBody = (version: string, until: string) => ({
      ...fromBusybox(),
      steps: [{ type: 'RUN', args: [`echo ${version} > v; echo begun; ${until}`] }],
    });
    const older = await register('twice');
    await start(older, toBody('older', 'sleep 3'));
    const newer = await register('twice');
    await start(newer, toBody('newer', 'true'));
    expect(await readStatus(older)).toMatchObject({ status: 'building' });
    const ends = await Promise.all([waitForEnd(older), waitForEnd(newer)]);
    expect(ends.map(({ status }) => status)).toEqual(['ready', 'ready']);
    const sandbox = await create('twice');
    expect(await sandbox.files.read('/home/user/v')).toBe('newer\n');
    await sandbox.kill();
    expect(await removeTemplate('twice')).toBe(204);
  });

  it('fails with a reason when the snapshot that it waits to begin with is deleted', async () => {
    const source = await create('base');
    const { snapshotId } = await source.createSnapshot({ memory: false });
    await source.kill();
    const begin = async (name: string, body: object) => {
      const registered = await register(name);
      await start(registered, body);
      return registered;
    };
    // No more than these run at a time.
    const before = ['first', 'second'];
    for (const name of before) {
      const steps = [{ type: 'RUN', args: ['echo begun; sleep 600'] }];
      const running = await begin(name, { ...fromBusybox(), steps, force: true });
      await expect.poll(async () => messagesOf(await readStatus(running))).toContain('begun');
    }
    const waiting = await begin('third', { fromTemplate: snapshotId });
    expect(await snapshots.delete(snapshotId, stack.connection)).toBe(true);
    for (const name of before) expect(await removeTemplate(name)).toBe(204);
    expect(await waitForEnd(waiting)).toMatchObject({
      status: 'error',
      reason: { message: `the snapshot ${snapshotId} was deleted`, step: 'base' },
    });
    expect(await removeTemplate('third')).toBe(204);
  });

  it('goes on when the helper is killed during a step, and has all that its steps made', async () => {
    const registered = await register('helpless');
    const steps = [
      { type: 'RUN', args: ['echo begun; until [ -e /tmp/go ]; do sleep 0.1; done; echo first > made'] },
      { type: 'RUN', args: ['echo second >> made'] },
    ];
    await start(registered, { ...fromBusybox(), steps });
    await expect.poll(async () => messagesOf(await readStatus(registered))).toContain('begun');
    const helper = findHelper(stack);
    process.kill(helper, 'SIGKILL');
    await expect.poll(() => ![0, helper].includes(findHelper(stack))).toBe(true);
    const [id = ''] = readdirSync(join(dataDir, 'sandboxes'));
    writeFileSync(join(dataDir, 'sandboxes', id, 'root/tmp/go'), '');
    expect((await waitForEnd(registered)).reason).toBeUndefined();
    const sandbox = await create('helpless');
    expect(await sandbox.files.read('/home/user/made')).toBe('first\nsecond\n');
    await sandbox.kill();
    expect(await removeTemplate('helpless')).toBe(204);
  });

  it('fails with a reason when the server is killed, leaves nothing, and the next build works', async () => {
    expect(await build('plain', fromBusybox())).toMatchObject({ status: 'ready' });
    const before = listImages();
    const registered = await register('killed');
    await start(registered, { ...fromBusybox(), steps: [{ type: 'RUN', args: ['echo begun; sleep 600'] }] });
    await expect.poll(async () => messagesOf(await readStatus(registered))).toContain('begun');
    await stack.kill();
    await startServer();
    expect(await readStatus(registered)).toMatchObject({
      status: 'error',
      reason: { message: 'the server was restarted during the build' },
    });
    await expect.poll(() => readdirSync(join(dataDir, 'sandboxes'))).toEqual([]);
    // An image that only the killed build had is removed, too.
    expect(before).toEqual(expect.arrayContaining(listImages()));
    expect(await build('killed', fromBusybox())).toMatchObject({ status: 'ready' });
    const sandbox = await create('plain');
    expect((await sandbox.commands.run('echo still there')).stdout).toBe('still there\n');
    await sandbox.kill();
  });

  it('fails when its time is over, in a step and while it is not ready, and leaves nothing', async () => {
    await stack.stop();
    await startServer('--build-timeout', '3s');
    const ends = await Promise.all([
      build('endless', { ...fromBusybox(), steps: [{ type: 'RUN', args: ['sleep 600'] }] }),
      build('unready', { ...fromBusybox(), startCmd: 'exec sleep 600', readyCmd: 'false' }),
    ]);
    for (const { reason } of ends)
      expect(reason).toEqual({ message: 'the build took longer than 3 seconds' });
    await expect.poll(() => readdirSync(join(dataDir, 'sandboxes'))).toEqual([]);
    for (const template of ['endless', 'unready'])
      await expect(create(template)).rejects.toMatchObject({ code: 'not_found' });
  });
});
