// Drives a server with the @skerry/sdk that is installed beside this file: node drive-sdk.mjs FEATURE
// Without arguments it prints the features that this SDK has. It calls only what every release since the feature came has.
import { strict as assert } from 'node:assert';
import { Sandbox, snapshots } from '@skerry/sdk';

// Releases before templates lack this export: their features are then without builds.
const builds = await import('@skerry/sdk/template').catch(() => undefined);
const timeoutMs = 300_000;
const name = `versions-sdk-${process.pid}`;

/** Each gets a sandbox of its own that runs. */
const features = {
  async sandboxes(sandbox) {
    const metadata = { run: name };
    const other = await Sandbox.create({ metadata, timeoutMs });
    const found = [];
    for await (const { sandboxId } of Sandbox.list({ metadata })) found.push(sandboxId);
    assert.deepEqual(found, [other.sandboxId]);
    await other.setTimeout(2 * timeoutMs);
    const info = await other.getInfo();
    assert.deepEqual([info.state, info.metadata], ['running', metadata]);
    assert.equal(await other.kill(), true);
    assert.equal(await other.isRunning(), false);
    assert.equal(await sandbox.isRunning(), true);
  },
  async commands(sandbox) {
    const { stdout, stderr } = await sandbox.commands.run('echo out; echo err >&2');
    assert.deepEqual([stdout, stderr], ['out\n', 'err\n']);
    const failure = await sandbox.commands.run('exit 3').catch((error) => error);
    assert.equal(failure.exitCode, 3);
    const sort = await sandbox.commands.run('sort', { background: true, stdin: true });
    await sandbox.commands.sendStdin(sort.pid, 'b\na\n');
    await sandbox.commands.closeStdin(sort.pid);
    assert.equal((await sort.wait()).stdout, 'a\nb\n');
  },
  async terminals(sandbox) {
    let shown = '';
    const onData = (bytes) => {
      shown += new TextDecoder().decode(bytes);
    };
    const terminal = await sandbox.pty.create({ cols: 80, rows: 24, onData });
    await terminal.sendInput('echo $((40 + 2)) columns; exit\r');
    await terminal.wait();
    assert.match(shown, /42 columns/);
  },
  async files(sandbox) {
    const changed = Promise.withResolvers();
    await sandbox.files.makeDir('watched');
    const watch = await sandbox.files.watchDir('watched', { onEvent: changed.resolve });
    await sandbox.files.write('watched/file', 'written');
    assert.equal((await changed.promise).name, 'file');
    watch.stop();
    assert.equal(await sandbox.files.read('watched/file'), 'written');
    assert.deepEqual(
      (await sandbox.files.list('watched')).map((entry) => entry.path),
      ['/home/user/watched/file'],
    );
    await sandbox.files.remove('watched');
    assert.equal(await sandbox.files.exists('watched'), false);
  },
  async pause(sandbox) {
    const sleep = await sandbox.commands.run('sleep 1000', { background: true, timeoutMs: 0 });
    sleep.disconnect();
    await sandbox.pause();
    assert.equal((await sandbox.getInfo()).state, 'paused');
    const resumed = await Sandbox.connect(sandbox.sandboxId, { timeoutMs });
    const running = await resumed.commands.list();
    assert.ok(running.some(({ pid }) => pid === sleep.pid));
    assert.equal(await resumed.commands.kill(sleep.pid), true);
  },
  async snapshots(sandbox) {
    await sandbox.files.write('kept', 'in the snapshot');
    const { snapshotId } = await sandbox.createSnapshot({ name });
    const copy = await Sandbox.create({ template: name, timeoutMs });
    assert.equal(await copy.files.read('kept'), 'in the snapshot');
    await copy.kill();
    assert.equal(await snapshots.delete(snapshotId), true);
  },
  async 'inspection of snapshots'(sandbox) {
    const { snapshotId } = await sandbox.createSnapshot({ name });
    assert.deepEqual(await snapshots.verify(snapshotId), []);
    assert.ok((await snapshots.log(snapshotId)).length > 0);
    assert.equal(await snapshots.delete(snapshotId), true);
  },
  async forks(sandbox) {
    await sandbox.files.write('own', 'of the source');
    for (const copy of await sandbox.fork({ count: 2, timeoutMs })) {
      if (copy instanceof Error) throw copy;
      await copy.files.write('own', 'of the copy');
      await copy.kill();
    }
    assert.equal(await sandbox.files.read('own'), 'of the source');
  },
  async logs(sandbox) {
    assert.ok((await sandbox.getLogs({ direction: 'forward' })).length > 0);
    await sandbox.getMetrics();
  },
  async templates() {
    const { build, Template, templates } = builds;
    const template = Template().fromTemplate('base').run('echo built > /home/user/built');
    await build(template, name, { cpuCount: 1, memoryMb: 256 }).result();
    const sandbox = await Sandbox.create({ template: name, timeoutMs });
    assert.equal(await sandbox.files.read('built'), 'built\n');
    await sandbox.kill();
    await templates.delete(name);
  },
};
const isHere = { templates: builds !== undefined, forks: 'fork' in Sandbox.prototype };

const [wanted] = process.argv.slice(2);
if (wanted === undefined) {
  for (const feature of Object.keys(features)) if (isHere[feature] !== false) console.log(feature);
} else {
  const sandbox = await Sandbox.create({ timeoutMs });
  await features[wanted](sandbox).finally(() => sandbox.kill());
}
