import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findServerProgram, type ServerProgram } from '@skerry/platform/server-program';
import { findFreePort } from '../stack/find-free-port.ts';
import { untilServed } from '../stack/until-served.ts';
import { makeTrustedCertificate } from './trusted-certificate.ts';

/** A DNS server and an ACME authority that asks it, on the loopback interface. */
export interface AcmeServers extends AsyncDisposable {
  readonly directoryUrl: string;
  readonly dnsPort: number;
  /** A TSIG key that may change the zone `boxes.test`, in a file. */
  readonly keyFile: string;
  /** Where another file with that name may lie. */
  readonly folder: string;
  /** The start of a command line for the shell that controls the DNS server. */
  readonly control: string;
  /** The authority's certificate, as PEM. */
  readRoot(): Promise<string>;
  /** The TXT records of a name. */
  readRecords(name: string): Promise<string[]>;
}

/** Starts Knot DNS with a zone `boxes.test`, and Pebble with certificates that are valid for so long. This process trusts the API of Pebble. */
export async function startAcmeServers({ validSeconds }: { validSeconds: number }): Promise<AcmeServers> {
  await using cleanup = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), 'skerry-acme-'));
  cleanup.defer(() => rmSync(folder, { recursive: true }));
  const [dnsPort, apiPort, managementPort] = [
    await findFreePort(),
    await findFreePort(),
    await findFreePort(),
  ];
  const secret = randomBytes(32).toString('base64');
  const keyFile = join(folder, 'update.key');
  writeFileSync(keyFile, toKeyFile(secret), { mode: 0o600 });

  mkdirSync(join(folder, 'db'));
  writeFileSync(join(folder, 'boxes.test.zone'), zone);
  writeFileSync(join(folder, 'knot.conf'), toKnotConfig({ folder, port: dnsPort, secret }));
  const dns = start('knot', ['--config', join(folder, 'knot.conf')]);
  cleanup.defer(() => end(dns));

  const certificate = makeTrustedCertificate('localhost');
  cleanup.use(certificate);
  const before = process.env.NODE_EXTRA_CA_CERTS;
  process.env.NODE_EXTRA_CA_CERTS = certificate.certFile;
  cleanup.defer(() => {
    if (before === undefined) delete process.env.NODE_EXTRA_CA_CERTS;
    else process.env.NODE_EXTRA_CA_CERTS = before;
  });
  const pebbleConfig = {
    listenAddress: `127.0.0.1:${apiPort}`,
    managementListenAddress: `127.0.0.1:${managementPort}`,
    certificate: certificate.certFile,
    privateKey: certificate.keyFile,
    httpPort: 5002,
    tlsPort: 5001,
    externalAccountBindingRequired: false,
    certificateValidityPeriod: validSeconds,
  };
  writeFileSync(join(folder, 'pebble.json'), JSON.stringify({ pebble: pebbleConfig }));
  const argv = ['-strict', '-config', join(folder, 'pebble.json'), '-dnsserver', `127.0.0.1:${dnsPort}`];
  // The authority refuses a part of all nonces, as a busy one does.
  const authority = start('pebble', argv, { PEBBLE_VA_NOSLEEP: '1', PEBBLE_WFE_NONCEREJECT: '20' });
  cleanup.defer(() => end(authority));
  const directoryUrl = `https://localhost:${apiPort}/dir`;
  await Promise.all([untilServed(apiPort), untilServed(dnsPort)]);

  const resolver = new Resolver({ timeout: 2_000, tries: 2 });
  resolver.setServers([`127.0.0.1:${dnsPort}`]);
  const running = cleanup.move();
  return {
    directoryUrl,
    dnsPort,
    keyFile,
    folder,
    control: toControl(join(folder, 'knot.conf')),
    async readRoot() {
      return (await fetch(`https://localhost:${managementPort}/roots/0`)).text();
    },
    async readRecords(name) {
      try {
        return (await resolver.resolveTxt(name)).map((parts) => parts.join(''));
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        if (code === 'ENOTFOUND' || code === 'ENODATA') return [];
        throw error;
      }
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** A key as `tsig-keygen skerry` writes it. */
export const toKeyFile = (secret: string): string =>
  `key "skerry" {\n\talgorithm hmac-sha256;\n\tsecret "${secret}";\n};\n`;

const zone = `$ORIGIN boxes.test.
$TTL 60
@ SOA ns.boxes.test. admin.boxes.test. 1 60 60 600 60
@ NS ns.boxes.test.
ns A 127.0.0.1
`;

const toKnotConfig = ({ folder, port, secret }: { folder: string; port: number; secret: string }): string => `
server:
  listen: 127.0.0.1@${port}
  rundir: ${folder}
log:
  - target: stderr
    any: warning
database:
  storage: ${folder}/db
key:
  - id: skerry
    algorithm: hmac-sha256
    secret: ${secret}
acl:
  - id: update
    key: skerry
    action: update
zone:
  - domain: boxes.test
    storage: ${folder}
    file: boxes.test.zone
    zonefile-sync: -1
    acl: update
`;

const toControl = (config: string): string => {
  const { path, env } = requireProgram('knot');
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  return ['env', ...variables, path.replace(/knotd$/, 'knotc'), '--config', config].join(' ');
};

function requireProgram(name: 'knot' | 'pebble'): ServerProgram {
  const program = findServerProgram(name);
  if (program === undefined)
    throw new Error(`${name} is missing: "node scripts/system-packages.ts --more" unpacks it`);
  return program;
}

function start(name: 'knot' | 'pebble', argv: readonly string[], env: NodeJS.ProcessEnv = {}): ChildProcess {
  const program = requireProgram(name);
  return spawn(program.path, argv, {
    env: { ...process.env, ...program.env, ...env },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}
