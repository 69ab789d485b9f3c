import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll } from 'vitest';
import { runtimeSuite } from '../suite/suite.ts';
import { type Credentials, loadCredentials } from './credentials.ts';
import { createNodeRuntime } from './node-runtime.ts';
import { makeNetworkLab, type NetworkLab } from './testing/network-lab.ts';
import type { NodeProcessOptions } from './testing/node-process.ts';
import { makeTestAuthority, type TestAuthority } from './testing/write-credentials.ts';

let folder: string;
let lab: NetworkLab;
let authority: TestAuthority;
let platform: Credentials;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'skerry-node-suite-'));
  lab = await makeNetworkLab(['platform', 'node']);
  authority = await makeTestAuthority(folder);
  platform = loadCredentials(await authority.write({ role: 'platform' }), { role: 'platform' });
});
afterAll(async () => {
  await lab.close();
  rmSync(folder, { recursive: true });
});

const openNode: Parameters<typeof runtimeSuite>[1] = async (context) => {
  const { through, address } = lab.host('node');
  const options: NodeProcessOptions = {
    helper: context,
    host: address,
    files: await authority.write({ role: 'node', name: 'a' }),
  };
  const program = fileURLToPath(new URL('./testing/node-process.ts', import.meta.url));
  const [file, ...before] = [...through, process.execPath];
  const child = spawn(file, [...before, program, JSON.stringify(options)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const [line] = await once(child.stdout, 'data');
  const port = await lab.forward('platform', { host: address, port: Number(line) });
  const runtime = await createNodeRuntime({
    address: { name: 'a', host: '127.0.0.1', port },
    credentials: platform,
    claim: { installation: 'one', owner: 'suite', epoch: 1 },
  });
  return {
    ...runtime,
    close: async () => {
      await runtime.close();
      const ended = once(child, 'exit');
      child.stdin.end();
      await ended;
    },
  };
};

runtimeSuite('the OCI driver of a node in another network namespace, over TLS', openNode, {
  confinement: false,
});
