// Run by at-receiver.driver.test.ts in a network namespace of its own, which plays the host; nothing here touches the
// real one. A second namespace plays the internet. Sandboxes send datagrams, and each receiver counts what arrives at
// its link, before any rule or route of its own. Prints what arrived as one JSON line.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { runCommand } from '../../kernel/run-command.ts';
import { attachNetwork, detachNetwork } from '../attach.ts';
import { removeHostNetwork } from '../host.ts';
import { OPEN_NETWORK } from '../policy.ts';
import { releaseSlot, reserveSlot, toSlotAddresses } from '../slots.ts';

/** Where sandboxes send to, by address and port. The ports tell what was sent when. */
export interface Given {
  stateDir: string;
  publicHost: string;
  foreignSource: string;
  /** In closed ranges. */
  closed: string[];
}

const { stateDir, publicHost, foreignSource, closed } = JSON.parse(process.argv[2] as string) as Given;
const uplink = '5.5.5.1';
const started: ChildProcess[] = [];

const inNetworkOf = (pid: number | undefined, command: string[]): string[] =>
  pid === undefined ? command : ['nsenter', `--target=${pid}`, '--net', '--', ...command];
const run = (pid: number | undefined, command: string[], input?: string): Promise<string> => {
  const [file = '', ...args] = inNetworkOf(pid, command);
  return runCommand({ file, args, ...(input !== undefined && { input }) });
};
const ip = (pid: number | undefined, lines: string[]): Promise<string> =>
  run(pid, ['ip', '-batch', '-'], `${lines.join('\n')}\n`);

/** A process in a network namespace of its own. */
const startNode = async (): Promise<number> => {
  const child = spawn('unshare', ['--net', 'sh', '-c', 'echo up; exec sleep 60'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  started.push(child);
  await once(child.stdout, 'data');
  return child.pid as number;
};

/** Begins to note what arrives at a link, as `source target:port`. */
const watchLink = (pid: number, link: string): Promise<string> =>
  run(
    pid,
    ['nft', '-f', '-'],
    `table netdev watch {
      set seen { type ipv4_addr . ipv4_addr . inet_service; flags dynamic; size 65535; }
      chain ingress { type filter hook ingress device "${link}" priority 0; udp dport 1-65535 add @seen { ip saddr . ip daddr . udp dport }; }
    }`,
  );
const readArrived = async (pid: number): Promise<string[]> => {
  const listed = await run(pid, ['nft', 'list', 'set', 'netdev', 'watch', 'seen']);
  return [...listed.matchAll(/([\d.]+) \. ([\d.]+) \. (\d+)/g)].map(
    ([, from, to, port]) => `${from} ${to}:${port}`,
  );
};

/** Sends a datagram from a namespace to each target; those for which there is no route at all are left out. */
const send = (
  pid: number | undefined,
  { to, port, from }: { to: string[]; port: number; from?: string },
): Promise<string> => {
  const script = `const socket = require('node:dgram').createSocket('udp4');
    socket.on('error', () => {});
    socket.bind(0, ${JSON.stringify(from)}, async () => {
      for (const host of ${JSON.stringify(to)}) await new Promise((resolve) => socket.send('x', ${port}, host, resolve));
      socket.close();
    });`;
  return run(pid, [process.execPath, '-e', script]);
};

try {
  const internet = await startNode();
  await ip(undefined, [
    'link set lo up',
    `link add up0 type veth peer name down0 netns ${internet}`,
    `addr add ${uplink}/24 dev up0`,
    'link set up0 up',
    'route add default via 5.5.5.2',
  ]);
  await ip(internet, [
    'link set lo up',
    'addr add 5.5.5.2/24 dev down0',
    'link set down0 up',
    // Add the route that a neighbour on the link of the host would add to reach sandboxes.
    `route add 10.201.0.0/16 via ${uplink}`,
  ]);
  await watchLink(internet, 'down0');
  await writeFile('/proc/sys/net/ipv4/ip_forward', '0');
  // Only the rules may stand in the way: the kernel's own check of sources is off here.
  for (const name of ['all', 'default']) await writeFile(`/proc/sys/net/ipv4/conf/${name}/rp_filter`, '0');

  const owner = (id: string) => ({ dataDir: '/', id, stateDir });
  const attach = async (id: string, options: { hasOwnStack?: boolean } = {}) => {
    const [pid, slot] = [await startNode(), await reserveSlot(owner(id))];
    await attachNetwork({ pid, slot, policy: OPEN_NETWORK, stateDir, resolvers: [], ...options });
    return { pid, slot, id, address: toSlotAddresses(slot).guest };
  };
  // One whose rules are gone, one that has them, and one whose packets pass only those of its link.
  const escaped = await attach('escaped');
  const whole = await attach('whole');
  const apart = await attach('apart', { hasOwnStack: true });
  await run(escaped.pid, ['nft', 'flush', 'ruleset']);
  await run(apart.pid, ['nft', 'delete', 'table', 'inet', 'skerry']);
  for (const { pid } of [escaped, whole]) await watchLink(pid, 'eth0');
  await ip(escaped.pid, [`addr add ${foreignSource}/32 dev lo`, `addr add ${apart.address}/32 dev lo`]);

  const sendAll = async (
    ports: Record<'own' | 'foreign' | 'other' | 'closed' | 'inbound' | 'between', number>,
  ) => {
    const { pid } = escaped;
    await send(pid, { to: [publicHost], port: ports.own });
    await send(pid, { to: [publicHost], port: ports.foreign, from: foreignSource });
    await send(pid, { to: [publicHost], port: ports.other, from: apart.address });
    await send(pid, { to: closed, port: ports.closed });
    await send(internet, { to: [escaped.address, whole.address], port: ports.inbound });
    await send(pid, { to: [whole.address], port: ports.between });
  };
  await sendAll({ own: 1001, foreign: 1002, other: 1003, closed: 1004, inbound: 1005, between: 1006 });

  // What is left when the host has lost its rules: those of the sandbox, or of its link.
  await run(undefined, ['nft', 'flush', 'ruleset']);
  await send(whole.pid, { to: [publicHost, ...closed], port: 2001 });
  await send(apart.pid, { to: [publicHost, ...closed], port: 2002 });
  await send(apart.pid, { to: [whole.address], port: 2003 });

  // And without any: what could arrive at all.
  await sendAll({ own: 3001, foreign: 3002, other: 3003, closed: 3004, inbound: 3005, between: 3006 });

  const arrived = {
    internet: await readArrived(internet),
    escaped: await readArrived(escaped.pid),
    whole: await readArrived(whole.pid),
  };
  const addresses = { uplink, escaped: escaped.address, whole: whole.address, apart: apart.address };
  for (const { slot, id } of [escaped, whole, apart]) {
    await detachNetwork({ slot });
    await releaseSlot({ ...owner(id), slot });
  }
  await removeHostNetwork({ stateDir });
  console.log(JSON.stringify({ arrived, addresses }));
} finally {
  for (const child of started) child.kill('SIGKILL');
}
