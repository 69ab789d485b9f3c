import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { resolveToLoopback } from '../e2b/loopback-names.ts';
import { findFreePort } from '../stack/find-free-port.ts';
import { runProgram } from '../stack/run-program.ts';
import { skerryProgram } from '../stack/skerry-program.ts';
import { type Stack, startStack } from '../stack/stack.ts';

/** A server with TLS and a domain of its own, which this process can reach by name. */
export interface SecureDomain extends AsyncDisposable {
  readonly stack: Stack;
  readonly port: number;
  /** The file of the authority that clients must trust. This process does. */
  readonly authority: string;
}

/** Starts it with a certificate of `skerry tls init`. */
export async function serveSecureDomain(name: string): Promise<SecureDomain> {
  const dir = mkdtempSync(join(tmpdir(), 'skerry-domain-'));
  const made = await runProgram(skerryProgram, ['tls', 'init', '--domain', name, '--dir', dir, '--json']);
  const { authority, cert, key } = JSON.parse(made) as Record<'authority' | 'cert' | 'key', string>;
  const trusted = getCACertificates();
  setDefaultCACertificates([...trusted, readFileSync(authority, 'utf8')]);
  const endNames = resolveToLoopback(name);
  const undo = (): void => {
    endNames();
    setDefaultCACertificates(trusted);
    rmSync(dir, { recursive: true });
  };
  try {
    const port = await findFreePort();
    const args = [
      '--port',
      String(port),
      '--domain',
      `${name}:${port}`,
      '--tls-cert',
      cert,
      '--tls-key',
      key,
    ];
    const stack = await startStack({ args });
    return {
      stack,
      port,
      authority,
      async [Symbol.asyncDispose]() {
        await stack.down();
        undo();
      },
    };
  } catch (error) {
    undo();
    throw error;
  }
}
