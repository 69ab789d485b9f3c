import { strict as assert } from 'node:assert';
import { CommandExitError } from '@skerry/sdk';
import { buildTemplate } from './build-template.ts';
import type { DemoContext } from './demo-context.ts';
import { requestHost } from './host-request.ts';

const program = `import csv, sys, time
total = 0
for row in csv.DictReader(open("sales.csv")):
    total += int(row["count"]) * float(row["price"])
    print(row["item"], flush=True)
    time.sleep(0.05)
print(f"total {total:.2f}", file=sys.stderr)
`;
const data = 'item,count,price\nrope,3,12.50\nlamp,2,30.00\nanchor,1,199.90\n';

const forkUntilRefused = `
import os, signal, sys
children = []
try:
    while True:
        pid = os.fork()
        if pid == 0:
            signal.pause()
        children.append(pid)
except OSError:
    for pid in children:
        os.kill(pid, 9)
    sys.exit(f"no more than {len(children)} processes")
`;

/** The main job, step by step; each one throws when a result is wrong. */
export const demoSteps: Record<string, (context: DemoContext) => Promise<void>> = {
  async 'write a program and its data'({ sandbox }) {
    await sandbox.files.write([
      { path: 'shop/total.py', data: program },
      { path: 'shop/sales.csv', data },
    ]);
    assert.equal(await sandbox.files.read('shop/sales.csv'), data);
  },

  async 'run it with streamed output'({ sandbox, say }) {
    const arrivals: number[] = [];
    const result = await sandbox.commands.run('python3 total.py', {
      cwd: '/home/user/shop',
      onStdout: (chunk) => {
        arrivals.push(performance.now());
        say(`stdout: ${chunk.trim()}`);
      },
      onStderr: (chunk) => say(`stderr: ${chunk.trim()}`),
    });
    assert.equal(result.stdout, 'rope\nlamp\nanchor\n');
    assert.equal(result.stderr, 'total 297.40\n');
    assert.equal(result.exitCode, 0);
    assert.ok(
      (arrivals.at(-1) ?? 0) - (arrivals[0] ?? 0) > 50,
      'the output came at once instead of as it was printed',
    );
  },

  async 'feed a process through the client-streaming input call'({ sandbox, say }) {
    const handle = await sandbox.commands.run('sort -n | tail -1', { background: true, stdin: true });
    async function* numbers(): AsyncGenerator<string> {
      for (let n = 1; n <= 2000; n += 1) yield `${(n * 7919) % 2003}\n`;
    }
    await sandbox.commands.streamStdin(handle.pid, numbers());
    await handle.closeStdin();
    const { stdout } = await handle.wait();
    say(`largest of 2000 numbers: ${stdout.trim()}`);
    assert.equal(stdout, '2002\n');
  },

  async 'watch a directory while files change'({ sandbox, say }) {
    const seen: string[] = [];
    const removed = Promise.withResolvers<void>();
    const watch = await sandbox.files.watchDir('shop', {
      onEvent(event) {
        seen.push(`${event.type} ${event.name}`);
        if (event.type === 'remove') removed.resolve();
      },
    });
    await sandbox.files.write('shop/new.txt', 'hello');
    await sandbox.files.remove('shop/new.txt');
    await removed.promise;
    watch.stop();
    say(seen.join(', '));
    assert.ok(
      seen.includes('create new.txt') && seen.includes('write new.txt') && seen.at(-1) === 'remove new.txt',
      seen.join(),
    );
  },

  async 'list, move and remove'({ sandbox, say }) {
    await sandbox.files.move('shop/sales.csv', 'shop/archive/2026.csv');
    const names = (await sandbox.files.list('shop', { depth: 2 })).map((entry) =>
      entry.path.replace('/home/user/', ''),
    );
    say(names.join(', '));
    assert.deepEqual(names, ['shop/archive', 'shop/archive/2026.csv', 'shop/total.py']);
    await sandbox.files.remove('shop/archive');
    assert.equal(await sandbox.files.exists('shop/archive'), false);
  },

  async 'upload and download with signed URLs'({ sandbox }) {
    const upload = await sandbox.uploadUrl('signed.txt', { expiresInMs: 60_000 });
    const headers = { 'content-type': 'application/octet-stream' };
    const written = await requestHost(upload, { method: 'POST', headers, body: 'by signature' });
    assert.equal(written.status, 200, written.body);
    const download = await sandbox.downloadUrl('signed.txt', { expiresInMs: 60_000 });
    assert.deepEqual(await requestHost(download), { status: 200, body: 'by signature' });
    const forged = await requestHost(download.replace('signed.txt', '.bashrc'));
    assert.equal(forged.status, 401, 'a changed path must not pass');
  },

  async 'serve a web page from inside and fetch it by host name'({ sandbox, say }) {
    await sandbox.files.write('site/index.html', '<h1>from inside</h1>');
    const server = await sandbox.commands.run('python3 -m http.server 8000 --bind 127.0.0.1', {
      background: true,
      cwd: '/home/user/site',
    });
    const url = `http://${sandbox.getHost(8000)}/`;
    const page = await requestHost(url);
    say(`${url} answered ${page.status}: ${page.body}`);
    assert.deepEqual(page, { status: 200, body: '<h1>from inside</h1>' });
    await server.kill();
  },

  'build a template and create a sandbox from it': buildTemplate,

  async 'meet the limits: memory, processes, disk and other rights'({ sandbox, say }) {
    const attempts: [name: string, command: string][] = [
      ['memory', `python3 -c "x = b'x' * (8 << 30)"`],
      ['processes', `python3 -c '${forkUntilRefused}'`],
      ['disk', 'fallocate -l 200G /tmp/fill'],
      ['mounts', 'sudo unshare --mount true'],
      ['kernel settings', `sudo sh -c 'echo 1 > /proc/sys/vm/drop_caches'`],
    ];
    for (const [name, command] of attempts) {
      const failure = await sandbox.commands.run(command, { timeoutMs: 60_000 }).then(
        () => undefined,
        (error: unknown) => error,
      );
      assert.ok(
        failure instanceof CommandExitError,
        `${name}: ${failure instanceof Error ? failure.message : 'it was allowed'}`,
      );
      say(`${name}: ended with ${failure.exitCode} ${failure.stderr.trim().split('\n').at(-1) ?? ''}`);
    }
    const { stdout } = await sandbox.commands.run('echo still answering');
    assert.equal(stdout, 'still answering\n');
  },
};
