import { createHash, randomUUID } from 'node:crypto';
import type { Sandbox } from '@skerry/sdk';

/**
 * A process that knows something which is nowhere else, and how far it had counted when it was last seen. It counts what goes
 * over a connection inside.
 */
export interface Counter {
  /** Where it writes both down. */
  path: string;
  pid: number;
  secret: string;
  count: number;
}

/** What a sandbox, or a snapshot, is known to hold. */
export interface Content {
  /** Hash of each file that was acknowledged, by its name. */
  files: ReadonlyMap<string, string>;
  /** Undefined where its processes were not kept. */
  counter: Counter | undefined;
}

const folder = '/home/user/kept';
/** Also where many sandboxes share few processors. */
const COMMAND_MS = 60_000;

const program = `import os, socket, sys, time
path = sys.argv[1]
server = socket.create_server(('127.0.0.1', 0))
sender = socket.create_connection(server.getsockname()); receiver, _ = server.accept()
secret = os.urandom(8).hex(); count = 0
while True:
  sender.sendall(b'x'); count += len(receiver.recv(1))
  with open(path + '.new', 'w') as file: file.write(f'{os.getpid()} {secret} {count}')
  os.rename(path + '.new', path); time.sleep(0.1)`;

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

const parseCounter = (path: string, text: string): Counter => {
  const [pid, secret = '', count] = text.trim().split(' ');
  return { path, pid: Number(pid), secret, count: Number(count) };
};

/** Starts a counter. Another that may be there does not disturb it. */
export const startCounter = async (sandbox: Sandbox): Promise<Counter> => {
  const path = `/tmp/count-${randomUUID()}`;
  await sandbox.files.write('/home/user/counter.py', program);
  const { stdout } = await sandbox.commands.run(
    `setsid python3 /home/user/counter.py ${path} > /dev/null 2>&1 < /dev/null &
     until [ -s ${path} ]; do sleep 0.02; done; cat ${path}`,
    { timeoutMs: COMMAND_MS },
  );
  return parseCounter(path, stdout);
};

/** Resolves when the file is there for good, with what is known of it. */
export const writeFile = async (
  sandbox: Sandbox,
  { name, text }: { name: string; text: string },
): Promise<[name: string, hash: string]> => {
  await sandbox.files.write(`${folder}/${name}`, text);
  return [name, hashOf(text)];
};

/**
 * Says in words what of the content is not there, nothing when all is, and how far the counter has come. Waits for that to
 * count on: what it has written says nothing of whether it lives.
 */
export const findLosses = async (
  sandbox: Sandbox,
  { files, counter }: Content,
): Promise<{ losses: string[]; counter: Counter | undefined }> => {
  const names = [...files.keys()].map((name) => `${folder}/${name}`);
  const count = `first=$(cat ${counter?.path}); for turn in $(seq 100); do last=$(cat ${counter?.path})
    [ "$first" != "$last" ] && echo "$last" && break; sleep 0.05; done`;
  const { stdout } = await sandbox.commands.run(
    `sha256sum /dev/null ${names.join(' ')} 2>&1; echo; ${counter ? count : ''}`,
    { timeoutMs: COMMAND_MS },
  );
  const [sums = '', counted = ''] = stdout.split('\n\n');
  const found = new Map(sums.split('\n').map((line) => [line.slice(66), line.slice(0, 64)]));
  const losses = [...files]
    .filter(([name, hash]) => found.get(`${folder}/${name}`) !== hash)
    .map(([name]) => `file ${name}`);
  if (counter === undefined) return { losses, counter };
  const now = parseCounter(counter.path, counted);
  const goesOn = now.secret === counter.secret && now.pid === counter.pid && now.count >= counter.count;
  if (!goesOn) losses.push(`process ${JSON.stringify(counter)}, found ${JSON.stringify(counted)}`);
  return { losses, counter: now };
};
