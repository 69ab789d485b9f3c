import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { watch } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { prepareSuiteAgent } from '../../../suite/agent.ts';
import { prepareSuiteRootfs } from '../../../suite/rootfs.ts';
import { findTraces } from '../../../suite/traces.ts';
import { prepareCriu } from '../criu/prepare-criu.ts';
import { createOci } from '../oci.ts';

const program = fileURLToPath(new URL('../testing/pause-endlessly.ts', import.meta.url));

it('creates nothing in the /tmp of the host, where a kill would leave it', async (context) => {
  // Use a folder outside /tmp, over which the program mounts a layer of its own.
  const base = await mkdtemp('/var/tmp/runtime-scratch-');
  try {
    const dataDir = `${base}/data`;
    const [agentDir, rootfs, criuDir] = await Promise.all([
      prepareSuiteAgent(base),
      prepareSuiteRootfs(),
      // Ignore the failure: the test reports below why it is skipped without CRIU.
      prepareCriu({ targetDir: '/var/cache/skerry' }).catch(() => undefined),
    ]);
    const id = `scratch${process.pid}`;
    const runtime = createOci({ dataDir, agentDir, criuDir });
    if (!runtime.features.pause.memory) context.skip('memory cannot be kept on this host');
    const layer = `lowerdir=/tmp,upperdir=${base}/upper,workdir=${base}/work`;
    await Promise.all([mkdir(`${base}/upper`), mkdir(`${base}/work`)]);
    const script = `mount -t overlay -o ${layer} none /tmp && echo ready && read go && exec "$0" "$@"`;
    const args = [program, dataDir, agentDir, rootfs, id, criuDir ?? ''];
    const child = spawn('unshare', ['--mount', 'sh', '-c', script, process.execPath, ...args], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const readUntil = async (expected: string): Promise<void> => {
      for (;;) {
        const { value, done } = await lines.next();
        if (value === expected) return;
        if (done) throw new Error(`the program ended before it said "${expected}"`);
      }
    };
    await readUntil('ready');
    const made: (string | null)[] = [];
    const watcher = watch(`/proc/${child.pid}/root/tmp`, (_, name) => {
      // The name of the folder itself: at the end it is not mounted any more.
      if (name !== 'tmp') made.push(name);
    });
    child.stdin.write('go\n');
    await readUntil('kept 2');
    child.kill('SIGKILL');
    await once(child, 'exit');
    watcher.close();
    for await (const instance of runtime.list()) await instance.stop();
    await runtime.close();
    expect(made).toEqual([]);
    await expect.poll(() => findTraces({ dataDir, ids: [id] })).toEqual([]);
  } finally {
    await rm(base, { recursive: true, force: true });
  }
});
