import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { createGateway, type Gateway } from './gateway.ts';
import { gatewayPorts } from './ports.ts';

const realProgram = fileURLToPath(new URL('../../../../server/src/egress/main.ts', import.meta.url));
const sandbox = {
  guest: '127.0.0.2',
  names: ['api.example.com'],
  resolvers: ['127.0.0.1'],
  closedAddresses: [],
};
let lastHost = process.pid;
/** An address of loopback that no other test has. */
const toHost = (): string => {
  lastHost += 1;
  return `127.${(lastHost >> 16) % 200}.${(lastHost >> 8) & 255}.${lastHost & 255}`;
};

let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'gateway-'));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

const open = (options: Parameters<typeof createGateway>[0]): Gateway => {
  const gateway = createGateway(options);
  onTestFinished(() => gateway.close());
  return gateway;
};

/** Returns the process that has a text in its command line and this process, or another, as its parent. */
const findProcess = (text: string, parent = process.pid): number | undefined =>
  readdirSync('/proc')
    .map(Number)
    .find((pid) => {
      try {
        const isChild = readFileSync(`/proc/${pid}/status`, 'utf8').includes(`\nPPid:\t${parent}\n`);
        return isChild && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(text);
      } catch {
        // No process, or one that has ended meanwhile.
        return false;
      }
    });

/** Writes a program in place of the gateway: `answer` has the request and how often the program was started. */
const writeProgram = async (
  name: string,
  answer: string,
): Promise<{ path: string; requests(): string[] }> => {
  const [path, log] = [join(dir, `${name}.mjs`), join(dir, `${name}.log`)];
  await writeFile(
    path,
    `import { appendFileSync, existsSync, readFileSync } from 'node:fs';
    import { createInterface } from 'node:readline';
    const starts = existsSync('${log}') ? readFileSync('${log}', 'utf8').split('start').length : 1;
    appendFileSync('${log}', 'start\\n');
    let count = 0;
    createInterface({ input: process.stdin }).on('line', (line) => {
      appendFileSync('${log}', 'request\\n');
      count += 1;
      const request = JSON.parse(line);
      const say = (text) => process.stdout.write(text + '\\n');
      const accept = () => say(JSON.stringify({ id: request.id }));
      ${answer}
    }).on('close', () => process.exit());`,
  );
  return { path, requests: () => (existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : []) };
};

it('runs the gateway as a user of its own, without a group, a capability or a way to get one', async () => {
  const gateway = open({ path: realProgram });
  await gateway.set(toHost(), sandbox);
  const pid = findProcess(realProgram);
  const threads = readdirSync(`/proc/${pid}/task`);
  expect(threads.length).toBeGreaterThan(1);
  for (const thread of threads) {
    const status = readFileSync(`/proc/${pid}/task/${thread}/status`, 'utf8');
    const fields = Object.fromEntries(status.split('\n').map((line) => line.split(/:\s*/)));
    expect(fields).toMatchObject({
      ...{ Uid: '65533\t65533\t65533\t65533', Gid: '65533\t65533\t65533\t65533', Groups: '' },
      ...{ CapInh: '0000000000000000', CapPrm: '0000000000000000', CapEff: '0000000000000000' },
      ...{ CapAmb: '0000000000000000', NoNewPrivs: '1' },
    });
  }
});

it('ends the gateway at once when what started it is killed', async () => {
  const script = `const { createGateway } = await import(${JSON.stringify(new URL('gateway.ts', import.meta.url).href)});
    await createGateway({ path: ${JSON.stringify(realProgram)} }).set('${toHost()}', ${JSON.stringify(sandbox)});
    console.log('up');
    setInterval(() => {}, 1_000);`;
  const helper: ChildProcess = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void helper.kill('SIGKILL'));
  await once(helper.stdout as NodeJS.ReadableStream, 'data');
  const pid = findProcess(realProgram, helper.pid) ?? 0;
  // A gateway that hangs does not read that its input has ended.
  process.kill(pid, 'SIGSTOP');
  helper.kill('SIGKILL');
  await expect.poll(() => readState(pid), { timeout: 2_000 }).toMatch(/^[ZX]?$/);
});

/** Returns the state of a process: a zombie has ended. */
const readState = (pid: number): string => {
  try {
    return /\nState:\t(.)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? '';
  } catch {
    // There is no such process.
    return '';
  }
};

it('takes the ports of a gateway that ends later', async () => {
  const host = toHost();
  const before = open({ path: realProgram });
  await before.set(host, sandbox);
  const gateway = open({ path: realProgram });
  await expect(gateway.set(host, sandbox)).rejects.toMatchObject({
    code: 'internal',
    message: expect.stringContaining('EADDRINUSE'),
  });
  const pid = findProcess(realProgram) ?? 0;
  before.close();
  await expect.poll(() => readState(pid)).toMatch(/^[ZX]?$/);
  const dial = (): Promise<string> => {
    const socket = connect({ host, port: gatewayPorts.proxy });
    return once(socket, 'connect')
      .then(
        () => 'connected',
        (error: NodeJS.ErrnoException) => error.code ?? '',
      )
      .finally(() => socket.destroy());
  };
  await expect.poll(dial, { timeout: 10_000 }).toBe('connected');
});

it('sends a sandbox again that was refused, until it is removed', async () => {
  const { path, requests } = await writeProgram(
    'refuses',
    `say(JSON.stringify({ id: request.id, error: 'in use' }));`,
  );
  const gateway = open({ path });
  await expect(gateway.set('127.0.0.9', sandbox)).rejects.toMatchObject({ code: 'internal' });
  await expect.poll(() => requests().length, { timeout: 10_000 }).toBeGreaterThanOrEqual(4);
  gateway.remove('127.0.0.9');
  await expect.poll(() => requests().length).toBeGreaterThanOrEqual(5);
  const sent = requests().length;
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  expect(requests().length).toBe(sent);
});

it.each([
  ['what is not JSON', `say('{');`],
  ['what is not a reply', 'say(\'{"id":"1"}\');'],
  ['null', "say('null');"],
  ['a long line', 'say(JSON.stringify({ id: 0, error: "x".repeat(20_000) }));'],
  ['a line without an end', "process.stdout.write('x'.repeat(20_000));"],
])('starts the gateway again when it says %s', async (name, nonsense) => {
  const { path, requests } = await writeProgram(
    `says ${name}`,
    `if (starts === 1) { ${nonsense} } else accept();`,
  );
  const gateway = open({ path });
  await expect(gateway.set('127.0.0.9', sandbox)).rejects.toMatchObject({ code: 'unavailable' });
  await expect.poll(requests, { timeout: 10_000 }).toEqual(['start', 'request', 'start', 'request']);
});

it('starts the gateway again when it does not answer in time', async () => {
  const { path, requests } = await writeProgram('hangs', 'if (starts > 1) accept();');
  const gateway = open({ path, deadlineMs: 1_000 });
  await expect(gateway.set('127.0.0.9', sandbox)).rejects.toMatchObject({
    code: 'unavailable',
    message: 'the gateway for names did not answer for 1 s; it is started again',
  });
  await expect.poll(requests, { timeout: 10_000 }).toEqual(['start', 'request', 'start', 'request']);
});
