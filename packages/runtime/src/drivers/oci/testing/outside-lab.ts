// Run by outside.driver.test.ts in a network namespace of its own, which stands for the host; a second one stands for
// the internet. A program in a sandbox is connected to the latter while it is snapshotted, copied, paused and resumed.
// Prints what both ends have received as one JSON line.
import { spawn } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { runCommand } from '../../../kernel/run-command.ts';
import type { Instance } from '../../../runtime.ts';
import { runInside } from '../../../suite/client.ts';
import { createOci } from '../oci.ts';

const [base = '', agentDir = '', rootfs = '', criuDir] = process.argv.slice(2);
const [dataDir, stateDir] = [`${base}/data`, `${base}/state`];
const far = '1.2.3.4';
const MIB = 2 ** 20;

/** Prints a line for each accepted connection, for received data, and for the end of a connection. */
const server = `const say = (...what) => console.log(what.join(' '));
require('node:net').createServer((socket) => {
  say('accepted');
  socket.on('data', (data) => say('got', data)).on('end', () => say('end')).on('error', (error) => say(error.code));
}).listen(80, () => say('up'));`;
const outside = spawn('unshare', ['--net', process.execPath, '-e', server], {
  stdio: ['ignore', 'pipe', 'inherit'],
});
let said: string[] = [];
outside.stdout.setEncoding('utf8').on('data', (text: string) => said.push(...text.trim().split('\n')));

/** What it has said since the last time, when `last` is the last of it. */
const hear = async (last: string): Promise<string[]> => {
  for (let turn = 0; said.at(-1) !== last; turn++) {
    if (turn === 250) throw new Error(`${last} was not heard: ${said.join(', ')}`);
    await sleep(20);
  }
  const heard = said;
  said = [];
  return heard;
};

const program = `
import errno, os, socket, time
c = socket.create_connection(("${far}", 80)); c.sendall(b"hello")
def ask(act):
    try: return act()
    except OSError as error: return errno.errorcode[error.errno]
while True:
    for name, act in (("send", lambda: c.send(b"again")), ("receive", lambda: c.recv(1))):
        if os.path.exists("/root/" + name):
            os.unlink("/root/" + name)
            open("/root/new", "w").write(repr(ask(act))); os.rename("/root/new", "/root/answer")
    time.sleep(0.02)
`;

import { OPEN_NETWORK } from '../../../network/policy.ts';

const ask = async (instance: Instance, what: 'send' | 'receive'): Promise<string> => {
  const wait = 'for i in $(seq 250); do [ -s /root/answer ] && break; sleep 0.02; done; cat /root/answer';
  return (await runInside(instance, `rm -f /root/answer; touch /root/${what}; ${wait}`)).output;
};

const ip = (lines: readonly string[], pid?: number): Promise<string> => {
  const enter = pid === undefined ? [] : ['nsenter', `--target=${pid}`, '--net', '--'];
  const command = [...enter, 'ip', '-batch', '-'];
  return runCommand({ file: command[0] ?? '', args: command.slice(1), input: `${lines.join('\n')}\n` });
};

await mkdir(`${dataDir}/run`, { recursive: true, mode: 0o700 });
// CRIU tries what it can do with it.
await ip(['link set lo up']);
const runtime = createOci({ dataDir, agentDir, criuDir, stateDir });
const create = (id: string, origin: { rootfs: string } | { snapshot: string }): Promise<Instance> =>
  runtime.create({
    id: `outside${process.pid}${id}`,
    ...origin,
    hostname: 'box',
    limits: { cpuCount: 1, memoryBytes: 256 * MIB, diskBytes: 64 * MIB, processCount: 64 },
    network: OPEN_NETWORK,
  });
try {
  await hear('up');
  await ip([
    `link add up0 type veth peer name down0 netns ${outside.pid}`,
    'addr add 198.51.100.1/24 dev up0',
    'link set up0 up',
    'route add default via 198.51.100.2',
  ]);
  const there = ['link set lo up', 'addr add 198.51.100.2/24 dev down0', 'link set down0 up'];
  await ip([...there, `addr add ${far}/32 dev lo`], outside.pid);

  const source = await create('source', { rootfs });
  const start = 'setsid python3 /root/program.py > /root/log 2>&1 < /dev/null &';
  await runInside(source, `cat > /root/program.py <<'END'${program}END\n${start}`);
  const connected = await hear('got hello');
  const snapshot = `outside${process.pid}snapshot`;
  await source.snapshot({ id: snapshot, memory: true });
  const copy = await create('copy', { snapshot });
  const inCopy = await ask(copy, 'receive');
  const afterSnapshot = { inSource: await ask(source, 'send'), outside: await hear('got again') };
  await source.pause({ memory: true });
  const afterPause = await hear('end');
  await source.resume();
  const afterResume = await ask(source, 'receive');
  console.log(JSON.stringify({ connected, inCopy, afterSnapshot, afterPause, afterResume }));
} finally {
  for await (const instance of runtime.list()) await instance.stop();
  for await (const { id } of runtime.snapshots.list()) await runtime.snapshots.delete(id);
  await runtime.close();
  outside.kill('SIGKILL');
}
