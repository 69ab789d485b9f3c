import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { RuntimeError } from '../error.ts';
import { identifyProcess, type ProcessIdentity } from '../kernel/process-identity.ts';
import { systemPath } from '../kernel/run-command.ts';

/** The interface of the ground's network namespace that leads out. */
export const uplinkInterface = 'tap0';

/** Where slirp4netns asks the host's own name servers, wherever these are: its default network's third address. */
export const uplinkResolver = '10.0.2.3';

/**
 * Starts slirp4netns for the network namespace of the holder and resolves when packets pass. It ends with the holder,
 * whose line is at `linePath`. Rejects with `unsupported` and its reason when it does not come up.
 */
export async function startUplink(options: {
  holderPid: number;
  linePath: string;
}): Promise<ProcessIdentity> {
  const { holderPid, linePath } = options;
  const line = openSync(linePath, constants.O_RDONLY | constants.O_NONBLOCK);
  const child = spawn(
    'slirp4netns',
    [
      ...['--configure', '--mtu=65520', '--disable-host-loopback', '--enable-sandbox', '--enable-seccomp'],
      ...['--exit-fd=3', '--ready-fd=4', String(holderPid), uplinkInterface],
    ],
    {
      stdio: ['ignore', 'ignore', 'pipe', line, 'pipe'],
      env: { PATH: systemPath },
      cwd: '/',
      // It outlives the process that starts it.
      detached: true,
    },
  );
  closeSync(line);
  try {
    const failed = once(child, 'exit').then(() => false);
    const missing = once(child, 'error').then(([error]) => {
      throw new RuntimeError('unsupported', 'slirp4netns could not be started', { cause: error });
    });
    const ready = once(child.stdio[4] as Readable, 'data').then(() => true);
    if (!(await Promise.race([ready, failed, missing]))) {
      const said = child.stderr ? await text(child.stderr) : '';
      throw new RuntimeError('unsupported', `slirp4netns ended: ${said.trim().slice(-500)}`);
    }
    const identity = identifyProcess(child.pid as number);
    if (!identity) throw new RuntimeError('unsupported', 'slirp4netns ended at once');
    return identity;
  } finally {
    child.stderr?.destroy();
    (child.stdio[4] as Readable).destroy();
    child.unref();
  }
}
