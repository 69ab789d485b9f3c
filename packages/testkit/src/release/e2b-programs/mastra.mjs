import assert from 'node:assert/strict';
import { Workspace } from '@mastra/core/workspace';
import { E2BSandbox } from '@mastra/e2b';
import { Template } from 'e2b';
import { makeCalls } from './calls.mjs';

const options = { id: 'driven', template: 'base', timeout: 600_000 };
const sandbox = new E2BSandbox({ ...options, env: { COLOUR: 'green' }, metadata: { made: 'here' } });
let first;

await makeCalls({
  start: async () => {
    await sandbox.start();
    assert.equal(sandbox.status, 'running');
    first = sandbox.e2b.sandboxId;
  },
  getInfo: async () => {
    const { id, provider, status } = await sandbox.getInfo();
    assert.deepEqual({ id, provider, status }, { id: 'driven', provider: 'e2b', status: 'running' });
  },
  executeCommand: async () => {
    const { stdout, exitCode } = await sandbox.executeCommand('echo', ['a b', '$COLOUR']);
    assert.deepEqual({ stdout, exitCode }, { stdout: 'a b $COLOUR\n', exitCode: 0 });
    const shell = await sandbox.executeCommand('echo $COLOUR; echo red >&2');
    assert.deepEqual([shell.stdout, shell.stderr], ['green\n', 'red\n']);
  },
  'executeCommand: status': async () => {
    const { success, exitCode } = await sandbox.executeCommand('exit 3');
    assert.deepEqual({ success, exitCode }, { success: false, exitCode: 3 });
  },
  'executeCommand: output before a status that is not 0': async () => {
    const { stdout } = await sandbox.executeCommand('echo $COLOUR; exit 3');
    assert.equal(stdout, 'green\n');
  },
  'executeCommand with cwd, env and onStdout': async () => {
    let streamed = '';
    const onStdout = (text) => {
      streamed += text;
    };
    await sandbox.executeCommand('echo $PWD $SHAPE', [], { cwd: '/tmp', env: { SHAPE: 'round' }, onStdout });
    assert.equal(streamed, '/tmp round\n');
  },
  'executeCommand with timeout': async () => {
    const { success, exitCode } = await sandbox.executeCommand('sleep', ['600'], { timeout: 500 });
    assert.equal(success, false);
    assert.notEqual(exitCode, 0);
  },
  'executeCommand with abortSignal': async () => {
    const aborting = new AbortController();
    const onStdout = () => aborting.abort();
    const run = sandbox.executeCommand('echo begun; sleep 600', [], {
      abortSignal: aborting.signal,
      onStdout,
    });
    const result = await run.catch(() => ({ success: false }));
    assert.equal(result.success, false);
  },
  setEnv: async () => {
    sandbox.setEnv((env) => ({ ...env, SIZE: 'large' }));
    const { stdout } = await sandbox.executeCommand('echo $SIZE');
    assert.equal(stdout, 'large\n');
  },
  'processes.spawn, sendStdin, wait': async () => {
    const handle = await sandbox.processes.spawn('read line; echo "got $line"');
    await handle.sendStdin('through\n');
    const { stdout, exitCode } = await handle.wait();
    assert.deepEqual({ stdout, exitCode }, { stdout: 'got through\n', exitCode: 0 });
  },
  'processes.spawn, closeStdin': async () => {
    const handle = await sandbox.processes.spawn('cat');
    try {
      await handle.closeStdin();
    } finally {
      await handle.kill();
    }
  },
  'processes.list, get, kill': async () => {
    const { pid } = await sandbox.processes.spawn('sleep 600');
    const listed = await sandbox.processes.list();
    assert.equal(listed.filter((process) => process.pid === pid && process.running).length, 1);
    const handle = await sandbox.processes.get(pid);
    assert.equal(await sandbox.processes.kill(pid), true);
    const { exitCode } = await handle.wait();
    assert.notEqual(exitCode, 0);
  },
  writeFiles: async () => {
    await sandbox.writeFiles([
      { path: '/tmp/notes/one.txt', content: 'one' },
      { path: '/tmp/notes/two.bin', content: Buffer.from([0, 255]) },
    ]);
    const { stdout } = await sandbox.executeCommand('cat /tmp/notes/one.txt; stat -c %s /tmp/notes/two.bin');
    assert.equal(stdout, 'one2\n');
  },
  'e2b.commands.run: output before a status that is not 0': async () => {
    let streamed = '';
    const onStdout = (text) => {
      streamed += text;
    };
    const failed = await sandbox.e2b.commands.run('echo green; exit 3', { onStdout }).catch((error) => error);
    assert.deepEqual([failed.exitCode, failed.stdout, streamed], [3, 'green\n', 'green\n']);
  },
  'e2b.files': async () => {
    await sandbox.e2b.files.write('/tmp/notes/three.txt', 'three');
    assert.equal(await sandbox.e2b.files.read('/tmp/notes/three.txt'), 'three');
  },
  'networking.getPortUrl': async () => {
    const url = new URL(await sandbox.networking.getPortUrl(8000));
    assert.match(url.host, new RegExp(`^8000-${first}\\.`));
  },
  'start of another with its id, which finds it': async () => {
    const other = new E2BSandbox(options);
    await other.start();
    assert.equal(other.e2b.sandboxId, first);
  },
  '_stop, start: processes continue': async () => {
    const { pid } = await sandbox.processes.spawn('sleep 600');
    await sandbox._stop();
    await sandbox.start();
    assert.equal(sandbox.e2b.sandboxId, first);
    const { stdout } = await sandbox.executeCommand(`cat /tmp/notes/one.txt; kill -0 ${pid} && echo alive`);
    assert.equal(stdout, 'onealive\n');
  },
  clone: async () => {
    const clone = sandbox.clone({ id: 'cloned' });
    await clone.start();
    assert.notEqual(clone.e2b.sandboxId, first);
    await clone._destroy();
  },
  'a template of e2b as template': async () => {
    const template = Template().fromTemplate('base').runCmd('echo made > /tmp/made');
    const built = new E2BSandbox({ id: 'built', template });
    await built.start();
    const { stdout } = await built.executeCommand('cat', ['/tmp/made']);
    assert.equal(stdout, 'made\n');
    await built._destroy();
  },
  'Workspace: init, destroy': async () => {
    const workspace = new Workspace({ sandbox: new E2BSandbox({ ...options, id: 'working' }) });
    await workspace.init();
    const { stdout } = await workspace.sandbox.executeCommand('echo', ['within']);
    assert.equal(stdout, 'within\n');
    await workspace.destroy();
  },
  _destroy: async () => {
    await sandbox._destroy();
    assert.equal(sandbox.status, 'destroyed');
  },
});
