import assert from 'node:assert/strict';
import { e2b } from '@computesdk/e2b';
import { makeCalls } from './calls.mjs';

const compute = e2b({ apiKey: process.env.E2B_API_KEY });
let sandbox;
let snapshot;

await makeCalls({
  'sandbox.create': async () => {
    sandbox = await compute.sandbox.create({
      timeout: 600_000,
      envs: { COLOUR: 'green' },
      metadata: { made: 'here' },
    });
    assert.match(sandbox.sandboxId, /./);
  },
  'sandbox.create with templateId': async () => {
    const other = await compute.sandbox.create({ templateId: 'base', timeout: 60_000 });
    await other.destroy();
  },
  'sandbox.getById': async () => {
    const found = await compute.sandbox.getById(sandbox.sandboxId);
    assert.equal(found?.sandboxId, sandbox.sandboxId);
    assert.equal(await compute.sandbox.getById('i00000000000000000000'), null);
  },
  'sandbox.list': async () => {
    const listed = await compute.sandbox.list();
    assert.equal(listed.filter(({ sandboxId }) => sandboxId === sandbox.sandboxId).length, 1);
  },
  getInfo: async () => {
    const info = await sandbox.getInfo();
    assert.equal(info.id, sandbox.sandboxId);
    assert.equal(info.status, 'running');
  },
  runCommand: async () => {
    const { stdout, stderr, exitCode } = await sandbox.runCommand('echo $COLOUR; echo red >&2; exit 3');
    assert.deepEqual({ stdout, stderr, exitCode }, { stdout: 'green\n', stderr: 'red\n', exitCode: 3 });
  },
  'runCommand with cwd and env': async () => {
    const options = { cwd: '/tmp', env: { SHAPE: 'round' } };
    const { stdout } = await sandbox.runCommand("sh -c 'pwd; printenv SHAPE'", options);
    assert.equal(stdout, '/tmp\nround\n');
  },
  'runCommand with onStdout': async () => {
    let streamed = '';
    const onStdout = (text) => {
      streamed += text;
    };
    await sandbox.runCommand('echo one; echo two', { onStdout });
    assert.equal(streamed, 'one\ntwo\n');
  },
  'runCommand in the background': async () => {
    await sandbox.runCommand('sleep 0.1; touch /tmp/behind', { background: true });
    for (;;) {
      if (await sandbox.filesystem.exists('/tmp/behind')) break;
    }
  },
  'filesystem.writeFile, readFile': async () => {
    await sandbox.filesystem.writeFile('/tmp/notes/one.txt', 'kept');
    assert.equal(await sandbox.filesystem.readFile('/tmp/notes/one.txt'), 'kept');
  },
  'filesystem.mkdir, readdir': async () => {
    await sandbox.filesystem.mkdir('/tmp/notes/deep');
    const entries = await sandbox.filesystem.readdir('/tmp/notes');
    assert.deepEqual(entries.map(({ name }) => name).toSorted(), ['deep', 'one.txt']);
  },
  'filesystem.readdir: type of a folder': async () => {
    const [deep] = await sandbox.filesystem.readdir('/tmp/notes');
    assert.equal(deep.type, 'directory');
  },
  'getInstance, files.list: type of a folder': async () => {
    const [deep] = await sandbox.getInstance().files.list('/tmp/notes');
    assert.equal(deep.type, 'dir');
  },
  'filesystem.exists, remove': async () => {
    await sandbox.filesystem.remove('/tmp/notes/one.txt');
    assert.equal(await sandbox.filesystem.exists('/tmp/notes/one.txt'), false);
    assert.equal(await sandbox.filesystem.exists('/tmp/notes'), true);
  },
  getUrl: async () => {
    const url = new URL(await sandbox.getUrl({ port: 8000 }));
    assert.match(url.host, new RegExp(`^8000-${sandbox.sandboxId}\\.`));
  },
  'snapshot.create': async () => {
    snapshot = await compute.snapshot.create(sandbox.sandboxId, { name: 'computed' });
  },
  'snapshot.list': async () => {
    const listed = await compute.snapshot.list();
    assert.notEqual(listed.length, 0, 'returns an empty list');
  },
  'sandbox.create with snapshotId': async () => {
    const copy = await compute.sandbox.create({ snapshotId: snapshot.id ?? snapshot.snapshotId });
    assert.equal(await copy.filesystem.exists('/tmp/notes'), true);
    await copy.destroy();
  },
  'snapshot.delete': async () => {
    await compute.snapshot.delete(snapshot.id ?? snapshot.snapshotId);
  },
  'sandbox.destroy': async () => {
    await sandbox.destroy();
    assert.equal(await compute.sandbox.getById(sandbox.sandboxId), null);
  },
});
