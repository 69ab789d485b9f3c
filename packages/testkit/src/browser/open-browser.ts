import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findServerProgram, type ServerProgram, type serverPrograms } from '@skerry/platform/server-program';
import puppeteer, { type Browser } from 'puppeteer-core';
import { createOwnNetwork } from './own-network.ts';

export interface OpenBrowser extends AsyncDisposable {
  readonly browser: Browser;
}

/**
 * Starts the headless Chromium of Debian for a user who trusts `authority`, the file of a certificate, and whose DNS has the domains
 * and all names below them at the loopback address. Names below `localhost` are there without that.
 */
export async function openBrowser({
  authority,
  domains = [],
  ports,
}: {
  authority?: string;
  domains?: readonly string[];
  /** The ports of this host's loopback that it reaches. */
  ports: readonly number[];
}): Promise<OpenBrowser> {
  const chromium = requireProgram('chromium');
  const home = mkdtempSync(join(tmpdir(), 'skerry-browser-'));
  const forget = (): void => rmSync(home, { recursive: true, force: true });
  try {
    if (authority !== undefined) await trust(home, authority);
    const records = domains.flatMap((domain) => [`MAP ${domain} 127.0.0.1`, `MAP *.${domain} 127.0.0.1`]);
    const network = await createOwnNetwork(home, { program: chromium.path, ports });
    const browser = await puppeteer.launch({
      executablePath: network.program,
      pipe: true,
      userDataDir: join(home, 'profile'),
      env: { ...process.env, ...chromium.env, HOME: home },
      // Chromium's sandbox of processes needs a program with the setuid bit, which an unpacked package lacks.
      args: ['--no-sandbox', `--host-resolver-rules=${records.join(',')}`],
    });
    await network.ready;
    return {
      browser,
      async [Symbol.asyncDispose]() {
        await browser.close();
        network.close();
        forget();
      },
    };
  } catch (error) {
    forget();
    throw error;
  }
}

/** Adds an authority to the user's database of NSS, where Chromium on Linux looks for those that its own list lacks. */
async function trust(home: string, authority: string): Promise<void> {
  const certutil = requireProgram('libnss3-tools');
  const folder = join(home, '.pki/nssdb');
  mkdirSync(folder, { recursive: true });
  const run = (...argv: string[]) =>
    promisify(execFile)(certutil.path, ['-d', `sql:${folder}`, ...argv], {
      env: { ...process.env, ...certutil.env },
    });
  await run('-N', '--empty-password');
  await run('-A', '-n', 'skerry', '-t', 'C,,', '-i', authority);
}

function requireProgram(name: keyof typeof serverPrograms): ServerProgram {
  const program = findServerProgram(name);
  if (program === undefined)
    throw new Error(`${name} is not unpacked: node scripts/system-packages.ts --more`);
  return program;
}
