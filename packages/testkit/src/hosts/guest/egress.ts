import { strict as assert } from 'node:assert';
import { Sandbox } from '@skerry/sdk';
import { shell } from './checks.ts';
import { attempt, run } from './run.ts';
import type { Connection } from './server.ts';

const publicAddress = '1.2.3.4';
const blockedAddresses = ['10.77.0.4', '100.100.100.200', '169.254.169.254'];
const server = 'lab-outside-server.service';

/**
 * Makes a network namespace the host's way to a public address and to some that no sandbox may reach, with a web server on each.
 */
async function makeOutside(): Promise<void> {
  const addresses = [publicAddress, ...blockedAddresses];
  await run('ip', 'netns', 'add', 'outside');
  await run('ip', 'link', 'add', 'outside', 'type', 'veth', 'peer', 'name', 'inside', 'netns', 'outside');
  await run('ip', 'addr', 'add', '192.0.2.1/24', 'dev', 'outside');
  await run('ip', 'link', 'set', 'outside', 'up');
  const inside = (...args: string[]) => run('ip', '-n', 'outside', ...args);
  await inside('addr', 'add', '192.0.2.2/24', 'dev', 'inside');
  for (const link of ['inside', 'lo']) await inside('link', 'set', link, 'up');
  await inside('route', 'add', 'default', 'via', '192.0.2.1');
  for (const address of addresses) {
    await inside('addr', 'add', `${address}/32`, 'dev', 'lo');
    await run('ip', 'route', 'add', `${address}/32`, 'via', '192.0.2.2');
  }
  await run(
    'systemd-run',
    '--quiet',
    `--unit=${server}`,
    '-p',
    'WorkingDirectory=/etc/systemd/network',
    'ip',
    'netns',
    'exec',
    'outside',
    'python3',
    '-m',
    'http.server',
    '80',
  );
  // The namespace answers before any sandbox asks.
  await run(
    'curl',
    '-sS',
    '--retry',
    '30',
    '--retry-connrefused',
    '--retry-delay',
    '1',
    '-o',
    '/dev/null',
    `http://${publicAddress}/`,
  );
}

async function removeOutside(): Promise<void> {
  await attempt('systemctl', 'stop', server);
  await attempt('ip', 'link', 'delete', 'outside');
  await attempt('ip', 'netns', 'delete', 'outside');
}

/** That a sandbox reaches a public address, no blocked one and not the host, and one without internet nothing at all. */
export async function checkEgress(connection: Connection): Promise<void> {
  await removeOutside();
  try {
    await makeOutside();
    const ask = (sandbox: Sandbox, address: string) =>
      shell(sandbox, `curl -s -m 20 -o /dev/null -w '%{http_code}' http://${address}/`);
    await using sandbox = await Sandbox.create({ ...connection, timeoutMs: 3_600_000 });
    assert.equal(await ask(sandbox, publicAddress), '200', `from ${publicAddress}`);
    for (const address of [...blockedAddresses, '10.0.2.2'])
      assert.equal(await ask(sandbox, address), '000', `from ${address}`);
    await using closed = await Sandbox.create({
      ...connection,
      allowInternetAccess: false,
      timeoutMs: 3_600_000,
    });
    assert.equal(await ask(closed, publicAddress), '000', 'of a sandbox without internet');
  } finally {
    await removeOutside();
  }
}
