// Run by attach.driver.test.ts in a network namespace of its own, which stands for the host; the real one is not
// changed. A second namespace stands for the internet and everything private behind the host. Prints its results as one
// JSON line.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { RuntimeError } from '../../error.ts';
import { runCommand } from '../../kernel/run-command.ts';
import { attachNetwork, detachNetwork } from '../attach.ts';
import { changeNetwork, requireChangeable } from '../change-network.ts';
import { readConnectionLimit } from '../connection-limit.ts';
import { GATEWAY_DSCP, gatewayPorts } from '../gateway/ports.ts';
import { ensureHostNetwork, removeHostNetwork } from '../host.ts';
import { CLOSED_NETWORK, OPEN_NETWORK } from '../policy.ts';
import { releaseSlot, reserveSlot, toSlotAddresses } from '../slots.ts';

const stateDir = process.argv[2] as string;
const resolver = '10.255.255.53';
const farAddresses = {
  publicHost: '1.2.3.4',
  private10: '10.9.9.9',
  private172: '172.16.5.5',
  private192: '192.168.7.7',
  metadata: '169.254.169.254',
  carrierNat: '100.64.0.9',
  azureMetadata: '168.63.129.16',
  benchmarking: '198.19.7.7',
  documentation1: '192.0.2.9',
  documentation2: '198.51.100.99',
  documentation3: '203.0.113.10',
  sixToFour: '192.88.99.1',
  thisNetwork: '0.1.2.3',
  reserved: '240.9.9.9',
  special: '192.0.0.192',
  // A neighbour of the host, with a public address.
  neighbour: '5.6.7.2',
  // Behind another link of the host, by a route without a gateway.
  onLink: '5.9.9.9',
};

const started: ChildProcess[] = [];

/** A process in a network namespace of its own that answers on ports 53 and 80 with the address it was called from. */
async function startNode(): Promise<number> {
  const script = `const net = require('node:net');
    const answer = (s) => { s.on('error', () => {}); s.end(s.remoteAddress.replace('::ffff:', '')); };
    let n = 0; for (const port of [53, 80]) net.createServer(answer).listen(port, () => { if (++n === 2) console.log('up'); });`;
  const child = spawn('unshare', ['--net', process.execPath, '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  started.push(child);
  await once(child.stdout, 'data');
  return child.pid as number;
}

const ip = (pid: number | undefined, lines: string[]): Promise<string> => {
  const command = ['ip', '-batch', '-'];
  const [file = '', ...args] =
    pid === undefined ? command : ['nsenter', `--target=${pid}`, '--net', '--', ...command];
  return runCommand({ file, args, input: `${lines.join('\n')}\n` });
};

/** What a connection attempt from inside a namespace comes to: the answer, or the error's code. */
async function dial(
  pid: number | undefined,
  targets: Record<string, string>,
  localAddress?: string,
): Promise<Record<string, string>> {
  const script = `const net = require('node:net'); const targets = ${JSON.stringify(targets)}; const out = {};
    let open = Object.keys(targets).length;
    for (const [name, target] of Object.entries(targets)) {
      const [host, port = 80] = target.split(':');
      const done = (what) => { if (out[name] === undefined) { out[name] = what; s.destroy(); if (--open === 0) console.log(JSON.stringify(out)); } };
      const s = net.connect({ host, port: Number(port), localAddress: ${JSON.stringify(localAddress)} }); let text = '';
      s.setTimeout(1000, () => done('timeout')); s.on('data', (d) => { text += d; }); s.on('end', () => done('answered ' + text)); s.on('error', (e) => done(e.code));
    }`;
  const command = [process.execPath, '-e', script];
  const [file = '', ...args] =
    pid === undefined ? command : ['nsenter', `--target=${pid}`, '--net', '--', ...command];
  return JSON.parse(await runCommand({ file, args })) as Record<string, string>;
}

/** Sends to more ports than a sandbox may have connections. */
const flood = (host: string): string => `const socket = require('node:dgram').createSocket('udp4');
  (async () => {
    for (let port = 1; port <= ${readConnectionLimit() + 3_000}; port++) {
      await new Promise((resolve) => socket.send('x', port, '${host}', resolve));
    }
    socket.close();
  })();`;

/** Sends one question from more ports than a sandbox may have connections. */
const floodResolver = `const { once } = require('node:events');
  (async () => {
    for (let port = 20_000; port < ${20_000 + readConnectionLimit() + 3_000}; port++) {
      const socket = require('node:dgram').createSocket('udp4').on('error', () => {}).bind(port);
      await once(socket, 'listening');
      await new Promise((resolve) => socket.send('x', 53, '${resolver}', resolve));
      socket.close();
    }
  })();`;

/** Listens on a port of the host, and answers with a word. */
const listen = async (word: string, address: string, port: number): Promise<Server> => {
  const server = createServer((socket) => socket.on('error', () => undefined).end(word)).listen(
    port,
    address,
  );
  await once(server, 'listening');
  return server;
};
const countTracked = async (): Promise<number> =>
  Number(await readFile('/proc/sys/net/netfilter/nf_conntrack_count', 'utf8'));

const forwarding = async (): Promise<string> =>
  (await readFile('/proc/sys/net/ipv4/ip_forward', 'utf8')).trim();
const hasTable = async (): Promise<boolean> =>
  (await runCommand({ file: 'nft', args: ['list', 'tables'] })).includes('inet skerry');

try {
  const internet = await startNode();
  await ip(undefined, [
    'link set lo up',
    `link add up0 type veth peer name down0 netns ${internet}`,
    'addr add 198.51.100.1/24 dev up0',
    'link set up0 up',
    'addr add 5.6.7.1/24 dev up0',
    'route add 5.9.9.9/32 dev up0',
    'route add default via 198.51.100.2',
  ]);
  await ip(internet, [
    'link set lo up',
    'addr add 198.51.100.2/24 dev down0',
    'addr add 5.6.7.3/24 dev down0',
    'link set down0 up',
    ...[...Object.values(farAddresses), resolver].map((address) => `addr add ${address}/32 dev lo`),
  ]);
  // There is no route back to 10.201.0.0/16: an answer proves that the host masqueraded the sandbox's address.
  await ip(internet, ['route add unreachable 10.201.0.0/16']);
  const hostServer = await listen('host', '0.0.0.0', 80);

  // A new namespace starts with the setting of the real host.
  await writeFile('/proc/sys/net/ipv4/ip_forward', '0');
  const fromHost = await dial(undefined, farAddresses);
  const [a, b, c] = [await startNode(), await startNode(), await startNode()];
  const owner = (id: string) => ({ dataDir: '/', id, stateDir });
  const [slotA, slotB] = [await reserveSlot(owner('a')), await reserveSlot(owner('b'))];
  const attach = (pid: number, slot: number, internetAllowed = true): Promise<void> =>
    attachNetwork({
      pid,
      slot,
      policy: internetAllowed ? OPEN_NETWORK : CLOSED_NETWORK,
      stateDir,
      resolvers: [resolver],
    });

  await Promise.all([attach(a, slotA), attach(b, slotB), attach(c, slotB, false)]);
  const other = toSlotAddresses(slotB).guest;
  const own = toSlotAddresses(slotA);
  const targets = {
    ...farAddresses,
    resolver: `${resolver}:53`,
    resolverOtherPort: `${resolver}:80`,
    otherSandbox: other,
    hostLink: own.host,
    hostUplink: '198.51.100.1',
    loopback: '127.0.0.1',
  };
  const inside = await dial(a, targets);
  const withoutInternet = await dial(c, { publicHost: farAddresses.publicHost, loopback: '127.0.0.1' });
  const inbound = await dial(undefined, { guest: own.guest });
  const ipv6 = await runCommand({
    file: 'nsenter',
    args: [`--target=${a}`, '--net', '--', 'ip', '-6', '-o', 'address', 'show', 'dev', 'eth0'],
  });
  const ipv6Host = await runCommand({
    file: 'ip',
    args: ['-6', '-o', 'address', 'show', 'dev', `skv${slotA}`],
  });

  // A sandbox that has removed its own rules and taken other addresses.
  await runCommand({
    file: 'nsenter',
    args: [`--target=${a}`, '--net', '--', 'nft', 'flush', 'ruleset'],
  });
  await runCommand({ file: 'nsenter', args: [`--target=${b}`, '--net', '--', 'nft', 'flush', 'ruleset'] });
  const escaped = await dial(a, targets);
  await runCommand({
    file: 'nsenter',
    args: [`--target=${a}`, '--net', '--', process.execPath, '-e', flood(farAddresses.publicHost)],
  });
  const tracked = await countTracked();
  const flooded = await dial(b, { publicHost: farAddresses.publicHost });

  // Sandbox b marks for the gateway what it sends.
  await runCommand({
    file: 'nsenter',
    args: [`--target=${b}`, '--net', '--', 'nft', '-f', '-'],
    input: `table ip marks {
      chain output {
        type filter hook output priority 0
        ip daddr { ${farAddresses.publicHost}, ${resolver} } ip dscp set ${GATEWAY_DSCP}
      }
    }`,
  });
  const dialMarked = async (): Promise<string> =>
    (await dial(b, { publicHost: farAddresses.publicHost })).publicHost ?? '';
  const marked = { toNothing: await dialMarked(), toStranger: '', toGateway: '' };
  const stranger = await listen('stranger', '::', gatewayPorts.proxy);
  marked.toStranger = await dialMarked();
  stranger.close();
  const ofGateway = await listen('gateway', toSlotAddresses(slotB).host, gatewayPorts.proxy);
  marked.toGateway = await dialMarked();
  ofGateway.close();
  const trackedBefore = await countTracked();
  await runCommand({
    file: 'nsenter',
    args: [`--target=${b}`, '--net', '--', process.execPath, '-e', floodResolver],
  });
  const trackedMarked = (await countTracked()) - trackedBefore;

  await ip(a, ['addr add 203.0.113.99/32 dev lo', `addr add ${other}/32 dev lo`]);
  const spoofed = await dial(a, { publicHost: farAddresses.publicHost }, '203.0.113.99');
  const spoofedOther = await dial(a, { publicHost: farAddresses.publicHost }, other);

  // A sandbox whose packets pass none of the rules of its namespace.
  const d = await startNode();
  const slotD = await reserveSlot(owner('d'));
  const surroundings = { stateDir, resolvers: [resolver] };
  await attachNetwork({ pid: d, slot: slotD, policy: OPEN_NETWORK, hasOwnStack: true, ...surroundings });
  const bypassRules = () =>
    runCommand({
      file: 'nsenter',
      args: [`--target=${d}`, '--net', '--', 'nft', 'delete', 'table', 'inet', 'skerry'],
    });
  await bypassRules();
  const ownStack = await dial(d, { publicHost: targets.publicHost, resolver: targets.resolver });

  // Policies that change while a sandbox runs.
  const e = await startNode();
  const slotE = await reserveSlot(owner('e'));
  const publicAddress = farAddresses.publicHost;
  const changes: Record<string, string>[] = [];
  for (const policy of [
    CLOSED_NETWORK,
    OPEN_NETWORK,
    { allow: [], deny: [`${publicAddress}/31`] },
    { allow: [publicAddress], deny: ['0.0.0.0/0'] },
    CLOSED_NETWORK,
  ]) {
    await changeNetwork({ pid: e, slot: slotE, policy, ...surroundings });
    changes.push(await dial(e, { publicHost: targets.publicHost, resolver: targets.resolver }));
  }
  await changeNetwork({ pid: e, slot: slotE, policy: OPEN_NETWORK, ...surroundings });
  const withHungGateway = await changeNetwork({
    ...{ pid: e, slot: slotE, ...surroundings },
    policy: { allow: ['api.example.com'], deny: ['0.0.0.0/0'] },
    gateway: {
      set: () => Promise.reject(new RuntimeError('unavailable', 'it did not answer')),
      remove: () => undefined,
      close: () => undefined,
    },
  }).then(
    () => 'changed',
    (error: { code: string }) => error.code,
  );
  changes.push(await dial(e, { publicHost: targets.publicHost, resolver: targets.resolver }));
  const ofOwnStack = { pid: d, slot: slotD, hasOwnStack: true, ...surroundings };
  await changeNetwork({ ...ofOwnStack, policy: { allow: [], deny: [publicAddress] } });
  await bypassRules();
  const changedOwnStack = await dial(d, { publicHost: targets.publicHost, resolver: targets.resolver });
  let withoutLink = '';
  try {
    requireChangeable({ ...ofOwnStack, slot: 4000, policy: OPEN_NETWORK });
  } catch (error) {
    withoutLink = (error as { code: string }).code;
  }

  // Remove all rules, as a reload of the host's firewall by the operator does.
  await runCommand({ file: 'nft', args: ['flush', 'ruleset'] });
  const unguarded = await dial(a, { otherSandbox: other });
  const guarded = await dial(d, { otherSandbox: other, ...farAddresses, hostUplink: targets.hostUplink });
  await ensureHostNetwork({ stateDir, resolvers: [resolver], verify: true });
  const afterReload = await hasTable();

  await removeHostNetwork({ stateDir });
  const whileReserved = await hasTable();

  const attachMs: number[] = [];
  for (let n = 0; n < 10; n++) {
    const pid = await startNode();
    const slot = await reserveSlot(owner(`t${n}`));
    const start = performance.now();
    await attach(pid, slot);
    attachMs.push(performance.now() - start);
    await detachNetwork({ slot });
    await releaseSlot({ ...owner(`t${n}`), slot });
  }

  const badPid = await attach(2 ** 22 - 1, slotA).then(
    () => 'attached',
    (error: { code: string }) => error.code,
  );
  const ownPid = await attach(process.pid, slotA).then(
    () => 'attached',
    (error: { code: string }) => error.code,
  );
  const aborted = await attachNetwork({
    pid: c,
    slot: slotA,
    policy: OPEN_NETWORK,
    stateDir,
    signal: AbortSignal.abort(),
  }).then(
    () => 'attached',
    (error: { code: string }) => error.code,
  );
  for (const [slot, id] of [
    [slotA, 'a'],
    [slotB, 'b'],
    [slotD, 'd'],
    [slotE, 'e'],
  ] as const) {
    await detachNetwork({ slot });
    await detachNetwork({ slot });
    await releaseSlot({ ...owner(id), slot });
  }
  const links = await runCommand({ file: 'ip', args: ['-o', 'link'] });
  await removeHostNetwork({ stateDir });
  await removeHostNetwork({ stateDir });
  const traces = {
    links: links.includes('skv'),
    table: await hasTable(),
    forwarding: await forwarding(),
    stateDir: await stat(stateDir).then(
      () => true,
      () => false,
    ),
  };
  hostServer.close();
  console.log(
    JSON.stringify({
      fromHost,
      inside,
      withoutInternet,
      inbound,
      ipv6: ipv6 + ipv6Host,
      escaped,
      tracked,
      marked,
      trackedMarked,
      flooded,
      spoofed,
      spoofedOther,
      ownStack,
      changes,
      withHungGateway,
      changedOwnStack,
      withoutLink,
      unguarded,
      guarded,
      afterReload,
      whileReserved,
      badPid,
      ownPid,
      aborted,
      traces,
      attachMs,
    }),
  );
} finally {
  for (const child of started) child.kill('SIGKILL');
}
