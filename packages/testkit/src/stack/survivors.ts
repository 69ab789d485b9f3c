import type { Sandbox } from '@skerry/sdk';
import { expect } from 'vitest';

const folder = '/tmp/survivors';

/**
 * A Node program that reads a word when a watched file changes, sends it to a child on pipes and over the connections
 * that it had made at its start, and writes down what came back. It never connects again.
 */
const node = `
const { spawn } = require('node:child_process');
const { readFileSync, renameSync, watch, writeFileSync } = require('node:fs');
const { connect, createServer } = require('node:net');
const child = spawn('/bin/sh', ['-c', 'n=0; while read line; do n=$((n+1)); echo "$line $n"; done']);
const open = (where) => new Promise((resolve) => {
  const server = createServer((socket) => socket.pipe(socket));
  server.listen(where, () => {
    const socket = connect(where.path ?? { host: where.host, port: server.address().port }, () => resolve(socket));
  });
});
const send = (input, output, word) => new Promise((resolve) => {
  output.once('data', (data) => resolve(String(data).trim()));
  input.write(word + '\\n');
});
(async () => {
  const [tcp, tcp6, unix] = await Promise.all([open({ host: '127.0.0.1', port: 0 }), open({ host: '::1', port: 0 }), open({ path: '${folder}/socket' })]);
  let last = '';
  const answer = async () => {
    const word = readFileSync('${folder}/word', 'utf8');
    if (word === last || word === '') return;
    last = word;
    const found = { child: await send(child.stdin, child.stdout, word), port: tcp.localPort };
    for (const [name, socket] of Object.entries({ tcp, tcp6, unix })) found[name] = await send(socket, socket, word);
    writeFileSync('${folder}/node.new', JSON.stringify(found));
    renameSync('${folder}/node.new', '${folder}/node-' + word);
  };
  writeFileSync('${folder}/word', '');
  watch('${folder}/word', () => void answer());
  writeFileSync('${folder}/node-ready', '');
})();`;

/** Holds two locks, and a file that has no name any more, which it adds a line to and shows whenever it gets a signal. */
const python = `
import fcntl, os, signal
flock = open('${folder}/flock', 'w'); fcntl.flock(flock, fcntl.LOCK_EX)
record = open('${folder}/record', 'w'); fcntl.lockf(record, fcntl.LOCK_EX)
deleted = open('${folder}/deleted', 'w+'); deleted.write('kept'); deleted.flush(); os.unlink('${folder}/deleted')
def show(*_):
    deleted.write('+'); deleted.seek(0)
    open('${folder}/python.new', 'w').write(deleted.read()); os.rename('${folder}/python.new', '${folder}/python')
signal.signal(signal.SIGUSR1, show)
open('${folder}/pid', 'w').write(str(os.getpid())); open('${folder}/python-ready', 'w')
while True: signal.pause()`;

/** A shell with a variable. */
const shell = `n=0; touch ${folder}/shell-ready; while read word; do n=$((n+1)); echo "$word $n" > ${folder}/shell; done`;

const tryLock = `import fcntl
for name, lock in (('flock', fcntl.flock), ('record', fcntl.lockf)):
    try: lock(open('${folder}/' + name, 'r+'), fcntl.LOCK_EX | fcntl.LOCK_NB); print(name, 'free')
    except BlockingIOError: print(name, 'held')`;

export interface Survivors {
  /** The port of the connection over loopback: another connection would have another. */
  port: number;
  words: number;
}

/** Starts programs that hold what a pause with memory is to keep. */
export const startSurvivors = async (sandbox: Sandbox): Promise<Survivors> => {
  await sandbox.commands.run(`mkdir ${folder} && mkfifo ${folder}/fifo`);
  await sandbox.files.write(`${folder}/node.cjs`, node);
  await sandbox.files.write(`${folder}/python.py`, python);
  await sandbox.files.write(`${folder}/shell.sh`, shell);
  const commands = {
    node: `env LD_LIBRARY_PATH=/.envd/lib /.envd/node ${folder}/node.cjs`,
    python: `python3 ${folder}/python.py`,
    shell: `sh ${folder}/shell.sh <> ${folder}/fifo`,
  };
  for (const [name, command] of Object.entries(commands)) {
    const input = name === 'shell' ? '' : '< /dev/null';
    await sandbox.commands.run(`setsid ${command} > ${folder}/${name}.log 2>&1 ${input} &`);
    const isReady = () => sandbox.files.exists(`${folder}/${name}-ready`);
    await expect.poll(isReady).toBe(true);
  }
  return expectToSurvive(sandbox, { port: 0, words: 0 }, 'first');
};

/** Each still has what it held, and no other sandbox has had the word that is sent through all of it. */
export const expectToSurvive = async (
  sandbox: Sandbox,
  { port, words }: Survivors,
  word: string,
): Promise<Survivors> => {
  const count = words + 1;
  await sandbox.files.write(`${folder}/word`, word);
  await sandbox.commands.run(`echo ${word} > ${folder}/fifo; kill -USR1 $(cat ${folder}/pid)`);
  const read = async (name: string): Promise<string> =>
    (await sandbox.files.exists(`${folder}/${name}`)) ? sandbox.files.read(`${folder}/${name}`) : '';
  await expect.poll(() => read(`node-${word}`)).toContain(word);
  const found = JSON.parse(await read(`node-${word}`)) as { port: number };
  expect(found).toEqual({
    child: `${word} ${count}`,
    port: port === 0 ? expect.any(Number) : port,
    tcp: word,
    tcp6: word,
    unix: word,
  });
  await expect.poll(() => read('shell')).toBe(`${word} ${count}\n`);
  await expect.poll(() => read('python')).toBe(`kept${'+'.repeat(count)}`);
  const { stdout } = await sandbox.commands.run(`python3 -c "${tryLock}"`);
  expect(stdout).toBe('flock held\nrecord held\n');
  return { port: found.port, words: count };
};
