// Run by names.driver.long.test.ts in network and mount namespaces of its own, which stand for the host; a second network namespace stands
// for the internet. Sandboxes with rules by name reach what they may and try the rest. Prints what each attempt came to as one JSON line.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { runCommand } from '../../../kernel/run-command.ts';
import { createGateway } from '../../../network/gateway/gateway.ts';
import { ensureHostNetwork } from '../../../network/host.ts';
import { type NetworkPolicy, OPEN_NETWORK } from '../../../network/policy.ts';
import type { Instance, InstanceOrigin } from '../../../runtime.ts';
import { runInside } from '../../../suite/client.ts';
import { createOci } from '../oci.ts';

/** What attempts inside came to, and what arrived outside meanwhile. */
interface Seen {
  inside: unknown[];
  outside: string[];
}

/** What this program prints. */
export interface NamesReport {
  ofAllowed: Seen;
  ofRefused: Seen;
  ofFree: Seen;
  held: string[];
  changeMs: number;
  endings: string[];
  afterChange: { named: unknown[]; other: unknown[]; outside: string[] };
  afterKill: Seen & { whileDown: unknown[]; isOther: boolean };
  afterPause: Seen;
  ofCopy: Seen;
  withoutHostRules: Seen;
  withoutGateway: Seen;
  afterRestart: Seen;
}

const [base = '', agentDir = '', rootfs = '', gatewayProgram = '', runscPath] = process.argv.slice(2);
const [dataDir, stateDir] = [`${base}/data`, `${base}/state`];
const resolver = '10.255.255.53';
const records = {
  'api.example.com': ['1.2.3.4'],
  // On the same address, as behind the same proxy.
  'evil.example': ['1.2.3.4'],
  'a.cdn.example': ['1.2.3.5'],
  'rebind.cdn.example': ['169.254.169.254', '10.201.0.1', '198.51.100.1'],
};
const named: NetworkPolicy = {
  allow: ['api.example.com', '*.cdn.example', '9.9.9.9'],
  deny: ['0.0.0.0/0'],
};
const MIB = 2 ** 20;

const ip = (lines: readonly string[], pid?: number): Promise<string> => {
  const enter = pid === undefined ? [] : ['nsenter', `--target=${pid}`, '--net', '--'];
  const [file, ...args] = [...enter, 'ip', '-batch', '-'] as const;
  return runCommand({ file, args, input: `${lines.join('\n')}\n` });
};

let arrived: string[] = [];
const startInternet = async (): Promise<ChildProcess> => {
  const program = new URL('names-internet.ts', import.meta.url).pathname;
  const child = spawn(
    'unshare',
    [
      '--net',
      'sh',
      '-c',
      'echo; read -r _; exec "$@"',
      'sh',
      process.execPath,
      program,
      base,
      resolver,
      JSON.stringify(records),
    ],
    {
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  );
  await once(child.stdout, 'data');
  await ip([
    `link add up0 type veth peer name down0 netns ${child.pid}`,
    'addr add 198.51.100.1/24 dev up0',
    'link set up0 up',
    'route add default via 198.51.100.2',
  ]);
  const addresses = ['1.2.3.4', '1.2.3.5', '6.6.6.6', '8.8.8.8', '9.9.9.9', resolver];
  await ip(
    [
      ...['link set lo up', 'addr add 198.51.100.2/24 dev down0', 'link set down0 up'],
      ...addresses.map((address) => `addr add ${address}/32 dev lo`),
    ],
    child.pid,
  );
  const up = new Promise<void>((resolve) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (line === '"up"') resolve();
      else arrived.push(JSON.parse(line) as string);
    });
  });
  child.stdin?.write('go\n');
  await up;
  return child;
};
/** Returns what has arrived since the last call. */
const takeArrived = (): string[] => {
  const taken = arrived;
  arrived = [];
  return taken;
};

type Attempt = readonly [string, ...(string | number)[]];
const attempt = async (instance: Instance, attempts: readonly Attempt[]): Promise<unknown[]> => {
  const { output } = await runInside(instance, `python3 /root/client.py '${JSON.stringify(attempts)}'`);
  return JSON.parse(output) as unknown[];
};
const waitForText = async (instance: Instance, path: string, pattern: string): Promise<string> => {
  const wait = `for i in $(seq 100); do grep -q '${pattern}' ${path} 2>/dev/null && break; sleep 0.05; done; cat ${path}`;
  return (await runInside(instance, wait)).output;
};
const hold = async (instance: Instance, address: string, name: string): Promise<string> => {
  const path = `/root/held-${name}`;
  await runInside(
    instance,
    `setsid python3 /root/holder.py ${address} ${name} ${path} >/dev/null 2>&1 </dev/null &`,
  );
  return waitForText(instance, path, 'open');
};

await mkdir(`${dataDir}/run`, { recursive: true, mode: 0o700 });
await writeFile(`${base}/resolv.conf`, `nameserver ${resolver}\n`);
await runCommand({ file: 'mount', args: ['--bind', `${base}/resolv.conf`, '/etc/resolv.conf'] });
await runCommand({
  file: 'openssl',
  args: [
    'req',
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:P-256',
    '-nodes',
    '-days',
    '2',
    '-subj',
    '/CN=lab',
    '-keyout',
    `${base}/key.pem`,
    '-out',
    `${base}/cert.pem`,
  ],
});
await ip(['link set lo up']);
const internet = await startInternet();
const [client, holder] = await Promise.all(
  ['names-client.py', 'names-holder.py'].map((name) => readFile(new URL(name, import.meta.url), 'utf8')),
);
let gateway = createGateway({ path: gatewayProgram });
let runtime = createOci({ dataDir, agentDir, stateDir, gateway, runscPath });
const toId = (id: string): string => `names${process.pid}${id}`;
const create = async (id: string, origin: InstanceOrigin, network: NetworkPolicy): Promise<Instance> => {
  const instance = await runtime.create({
    id: toId(id),
    ...origin,
    hostname: 'box',
    limits: { cpuCount: 1, memoryBytes: 256 * MIB, diskBytes: 64 * MIB, processCount: 64 },
    network,
  });
  await runInside(
    instance,
    `cat > /root/client.py <<'END'\n${client}\nEND\ncat > /root/holder.py <<'END'\n${holder}\nEND\n`,
  );
  return instance;
};
const gatewayPid = async (): Promise<number> =>
  Number(
    (await runCommand({ file: 'pgrep', args: ['-P', String(process.pid), '-f', gatewayProgram] }))
      .trim()
      .split('\n')[0],
  );

const allowed: readonly Attempt[] = [
  ['lookup', 'api.example.com'],
  ['tls', 'api.example.com'],
  ['http', 'api.example.com'],
  ['tls', 'a.cdn.example'],
  ['tcp', '9.9.9.9', 22],
];
const refused: readonly Attempt[] = [
  ['lookup', 'evil.example'],
  ['lookup', `${'a'.repeat(60)}.evil.example`],
  ['lookup', 'rebind.cdn.example'],
  ['tls', 'evil.example', '1.2.3.4'],
  ['tls', 'api.example.com', '6.6.6.6'],
  ['tls', 'api.example.com', '1.2.3.5'],
  ['http', 'evil.example', '1.2.3.4'],
  ['http', 'api.example.com', '6.6.6.6'],
  ['tcp', '1.2.3.4', 22],
  ['tcp', '1.2.3.4', 8443],
  ['tcp', '8.8.8.8', 853],
  ['tcp', '8.8.8.8', 53],
  ['udp', '8.8.8.8', 53],
  ['udp', '1.2.3.4', 443],
];

try {
  const one = await create('one', { rootfs }, named);
  const free = await create('free', { rootfs }, OPEN_NETWORK);
  const ofAllowed = { inside: await attempt(one, allowed), outside: takeArrived() };
  const ofRefused = { inside: await attempt(one, refused), outside: takeArrived() };
  const ofFree = {
    inside: await attempt(free, [
      ['tls', 'evil.example'],
      ['tcp', '1.2.3.4', 8443],
    ]),
    outside: takeArrived(),
  };

  // Rules that change while connections exist.
  const held = [await hold(one, '1.2.3.4', 'api.example.com'), await hold(free, '1.2.3.4', 'evil.example')];
  const changedAt = performance.now();
  await one.setNetwork({ ...named, allow: ['*.cdn.example'] });
  const changeMs = Math.round(performance.now() - changedAt);
  await free.setNetwork(named);
  const endings = [
    await waitForText(one, '/root/held-api.example.com', 'ended'),
    await waitForText(free, '/root/held-evil.example', 'ended'),
  ];
  takeArrived();
  const toCdn: readonly Attempt[] = [
    ['tls', 'a.cdn.example'],
    ['tls', 'api.example.com', '1.2.3.4'],
  ];
  const toApi: readonly Attempt[] = [
    ['tls', 'api.example.com'],
    ['tls', 'evil.example', '1.2.3.4'],
  ];
  const afterChange = {
    named: await attempt(one, toCdn),
    other: await attempt(free, toApi),
    outside: takeArrived(),
  };

  // The gateway is killed while another sandbox goes on trying.
  const pid = await gatewayPid();
  process.kill(pid, 'SIGKILL');
  const whileDown = await attempt(free, [
    ['tls', 'evil.example', '1.2.3.4'],
    ['tcp', '1.2.3.4', 8443],
  ]);
  await sleep(1_500);
  const afterKill = {
    whileDown,
    inside: await attempt(free, toApi),
    isOther: (await gatewayPid()) !== pid,
    outside: takeArrived(),
  };

  await one.pause({ memory: false });
  await one.resume();
  const afterPause = { inside: await attempt(one, toCdn), outside: takeArrived() };
  const snapshot = toId('snapshot');
  await free.snapshot({ id: snapshot, memory: false });
  const copy = await create('copy', { snapshot }, { ...named, allow: ['*.cdn.example'] });
  const ofCopy = { inside: await attempt(copy, toCdn), outside: takeArrived() };

  // Remove all rules of the host, as a reload of its firewall does.
  await runCommand({ file: 'nft', args: ['flush', 'ruleset'] });
  const withoutHostRules = {
    inside: await attempt(free, [['lookup', 'evil.example']]),
    outside: takeArrived(),
  };
  await ensureHostNetwork({ stateDir, resolvers: [resolver], verify: true });

  // The next process of the driver.
  gateway.close();
  const withoutGateway = {
    inside: await attempt(free, [
      ['tls', 'api.example.com', '1.2.3.4'],
      ['http', 'api.example.com', '1.2.3.4'],
      ['lookup', 'api.example.com'],
    ]),
    outside: takeArrived(),
  };
  await runtime.close();
  gateway = createGateway({ path: gatewayProgram });
  runtime = createOci({ dataDir, agentDir, stateDir, gateway, runscPath });
  const again = await runtime.get(toId('free'));
  const afterRestart = { inside: await attempt(again, toApi), outside: takeArrived() };
  const report: NamesReport = {
    ...{ ofAllowed, ofRefused, ofFree, held, changeMs, endings },
    ...{ afterChange, afterKill, afterPause, ofCopy, withoutHostRules, withoutGateway, afterRestart },
  };
  console.log(JSON.stringify(report));
} finally {
  for await (const instance of runtime.list()) await instance.stop();
  for await (const { id } of runtime.snapshots.list()) await runtime.snapshots.delete(id);
  await runtime.close();
  gateway.close();
  internet.kill('SIGKILL');
}
