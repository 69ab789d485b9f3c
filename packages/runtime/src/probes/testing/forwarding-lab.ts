// Run by forwarding.driver.long.test.ts in a network namespace of its own, which stands for the host; the real one is not
// changed. Prints its results as one JSON line.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runCommand } from '../../kernel/run-command.ts';
import { ensureHostNetwork, removeHostNetwork } from '../../network/host.ts';
import { runRules } from '../../network/nftables.ts';
import { releaseSlot, reserveSlot } from '../../network/slots.ts';
import { probeForwarding } from '../forwarding.ts';

const dir = process.argv[2] as string;
const stateDir = join(dir, 'state');
const probe = () => probeForwarding({ dir, stateDir });

/** The rules that iptables-nft makes for Docker, with a rule of the operator. */
const docker = `table ip filter {
  chain FORWARD { type filter hook forward priority filter; policy drop; counter jump DOCKER-USER; }
  chain DOCKER-USER { oifname "skv*" counter accept; counter return; }
}
`;
const droppingTable = (table: string, chain: string): string =>
  `table ${table} { chain ${chain} { type filter hook forward priority filter + 10; policy drop; }; }\n`;

await runCommand({ file: 'ip', args: ['link', 'set', 'lo', 'up'] });
// A new namespace starts with the setting of the real host.
await writeFile('/proc/sys/net/ipv4/ip_forward', '0');

const open = await probe();

await runRules(droppingTable('inet own', 'passing'));
const closed = await probe();
await runRules('insert rule inet own passing iifname "skv*" accept\n');
await runRules('insert rule inet own passing oifname "skv*" ct state established,related accept\n');
const mended = await probe();
await runRules('flush ruleset\n');

await runRules(droppingTable('inet firewalld', 'filter_FORWARD'));
const firewalld = await probe();
await runRules('flush ruleset\n');

await runRules(droppingTable('ip filter', 'FORWARD'));
const iptables = await probe();
await runRules('flush ruleset\n');

await runRules(docker);
const withDocker = await probe();
const afterProbe = await runRules('list chain ip filter DOCKER-USER');

const owner = { dataDir: dir, id: 'a', stateDir };
const slot = await reserveSlot(owner);
await ensureHostNetwork({ stateDir });
await ensureHostNetwork({ stateDir, verify: true });
const whileUsed = await runRules('list chain ip filter DOCKER-USER');
// Docker starts after the first sandbox, or makes its chains anew.
await runRules(`delete table ip filter\n${docker}`);
await ensureHostNetwork({ stateDir, verify: true });
const afterRestart = await runRules('list chain ip filter DOCKER-USER');
await releaseSlot({ ...owner, slot });
await removeHostNetwork({ stateDir });
const afterDown = await runRules('list chain ip filter DOCKER-USER');
const links = await runCommand({ file: 'ip', args: ['-o', 'link'] });

console.log(
  JSON.stringify({
    probes: { open, closed, mended, firewalld, iptables, withDocker },
    chains: { afterProbe, whileUsed, afterRestart, afterDown },
    links,
  }),
);
