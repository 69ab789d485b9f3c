import assert from 'node:assert/strict';
import { dir, file, Manifest } from '@openai/agents-core/sandbox';
import { E2BSandboxClient } from '@openai/agents-extensions/sandbox/e2b';
import { makeCalls } from './calls.mjs';

const options = { template: 'base', secure: true, allowInternetAccess: true, metadata: { made: 'here' } };
const client = new E2BSandboxClient({ ...options, env: { COLOUR: 'green' }, exposedPorts: [8000] });
const text = (bytes) => (typeof bytes === 'string' ? bytes : Buffer.from(bytes).toString());
let session;

await makeCalls({
  'create with a manifest': async () => {
    const entries = {
      'notes.txt': file({ content: 'kept\n' }),
      deep: dir({ children: { one: file({ content: '1' }) } }),
    };
    session = await client.create({ manifest: new Manifest({ entries }) });
    assert.equal(text(await session.readFile({ path: 'notes.txt' })), 'kept\n');
    assert.equal(text(await session.readFile({ path: 'deep/one' })), '1');
  },
  running: async () => assert.equal(await session.running(), true),
  execCommand: async () => {
    const output = await session.execCommand({ cmd: 'echo $COLOUR; cat notes.txt; exit 3' });
    assert.match(output, /green\nkept/);
    assert.match(output, /\b3\b/);
  },
  'execCommand with workdir': async () => {
    assert.match(await session.execCommand({ cmd: 'pwd', workdir: 'deep' }), /\/deep\n/);
  },
  'execCommand with tty, writeStdin': async () => {
    assert.equal(session.supportsPty(), true);
    const begun = await session.execCommand({
      cmd: 'read line; echo "got $line"',
      tty: true,
      yieldTimeMs: 1_000,
    });
    const sessionId = Number(/session(?: with)? id:? (\d+)/i.exec(begun)?.[1]);
    const output = await session.writeStdin({ sessionId, chars: 'through\n', yieldTimeMs: 5_000 });
    assert.match(output, /got through/);
  },
  'createEditor: createFile, updateFile, deleteFile': async () => {
    const editor = session.createEditor();
    await editor.createFile({ type: 'create_file', path: 'made.txt', diff: '+one\n+two\n' });
    await editor.updateFile({ type: 'update_file', path: 'made.txt', diff: '@@\n one\n-two\n+three\n' });
    assert.match(text(await session.readFile({ path: 'made.txt' })), /^one\nthree\n?$/);
    await editor.deleteFile({ type: 'delete_file', path: 'made.txt' });
    assert.equal(await session.pathExists('made.txt'), false);
  },
  'pathExists, directoryExists': async () => {
    assert.equal(await session.pathExists('notes.txt'), true);
    assert.equal(await session.directoryExists('deep'), true);
    assert.equal(await session.directoryExists('notes.txt'), false);
  },
  'materializeEntry, applyManifest': async () => {
    await session.materializeEntry({ path: 'two', entry: file({ content: '2' }) });
    await session.applyManifest(new Manifest({ entries: { three: file({ content: '3' }) } }));
    assert.equal(text(await session.readFile({ path: 'two' })), '2');
    assert.equal(text(await session.readFile({ path: 'three' })), '3');
  },
  viewImage: async () => {
    const pixel =
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
    await session.execCommand({ cmd: `echo ${pixel} | base64 -d > pixel.png` });
    const image = await session.viewImage({ path: 'pixel.png' });
    assert.equal(image.type, 'image');
  },
  resolveExposedPort: async () => {
    const { host } = await session.resolveExposedPort(8000);
    assert.match(host, new RegExp(`^8000-${session.state.sandboxId}\\.`));
  },
  'persistWorkspace, hydrateWorkspace': async () => {
    const archive = await session.persistWorkspace();
    await session.execCommand({ cmd: 'rm notes.txt' });
    await session.hydrateWorkspace(archive);
    assert.equal(text(await session.readFile({ path: 'notes.txt' })), 'kept\n');
  },
  'serializeSessionState, deserializeSessionState, resume': async () => {
    const stored = JSON.parse(JSON.stringify(await client.serializeSessionState(session.state)));
    const again = await client.resume(await client.deserializeSessionState(stored));
    assert.equal(again.state.sandboxId, session.state.sandboxId);
    assert.equal(text(await again.readFile({ path: 'notes.txt' })), 'kept\n');
  },
  'workspacePersistence: snapshot': async () => {
    const kept = await client.create({ options: { ...options, workspacePersistence: 'snapshot' } });
    await kept.execCommand({ cmd: 'echo before > state' });
    const snapshot = await kept.persistWorkspace();
    await kept.execCommand({ cmd: 'echo after > state' });
    await kept.hydrateWorkspace(snapshot);
    assert.equal(text(await kept.readFile({ path: 'state' })), 'before\n');
    await kept.delete();
  },
  'pauseOnExit: close, resume': async () => {
    const paused = await client.create({ options: { ...options, pauseOnExit: true } });
    await paused.execCommand({ cmd: 'echo paused > state' });
    await paused.close();
    const resumed = await client.resume(paused.state);
    assert.equal(resumed.state.sandboxId, paused.state.sandboxId);
    assert.equal(text(await resumed.readFile({ path: 'state' })), 'paused\n');
    await resumed.delete();
  },
  'create with onTimeout: pause': async () => {
    const pausing = await client.create({ options: { ...options, onTimeout: 'pause' } });
    await pausing.delete();
  },
  'create with autoResume': async () => {
    const resuming = await client.create({ options: { ...options, onTimeout: 'pause', autoResume: true } });
    await resuming.delete();
  },
  delete: async () => {
    await session.delete();
    assert.equal(await session.running().catch(() => false), false);
  },
});
