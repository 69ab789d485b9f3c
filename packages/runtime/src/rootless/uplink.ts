import { once } from 'node:events';
import { closeSync, constants, openSync } from 'node:fs';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { RuntimeError } from '../error.ts';
import { identifyProcess, type ProcessIdentity } from '../kernel/process-identity.ts';
import { type Program, startProgram } from '../kernel/start-program.ts';

/** The interface of the rootless namespace's network namespace to the outside. */
export const uplinkInterface = 'tap0';

/** The address at which slirp4netns forwards to the host's own name servers: the third of its default network. */
export const uplinkResolver = '10.0.2.3';

/**
 * Starts slirp4netns for the network namespace of the holder, the process that keeps the rootless namespace open. Resolves when
 * slirp4netns reports that it is ready. slirp4netns ends when the holder does, whose pipe is at `linePath`. Rejects with `unsupported` and its error output when it does not start.
 */
export async function startUplink(options: {
  holderPid: number;
  linePath: string;
}): Promise<ProcessIdentity> {
  const { holderPid, linePath } = options;
  const line = openSync(linePath, constants.O_RDONLY | constants.O_NONBLOCK);
  const program = start(holderPid, line);
  const [stderr, readiness] = [program.pipes[2], program.pipes[4]] as [Socket, Socket];
  try {
    const failed = program.ended.then(() => false);
    const ready = once(readiness, 'data').then(() => true);
    if (!(await Promise.race([ready, failed])))
      throw new RuntimeError('unsupported', `slirp4netns ended: ${(await text(stderr)).trim().slice(-500)}`);
    const identity = identifyProcess(program.pid);
    if (!identity) throw new RuntimeError('unsupported', 'slirp4netns ended at once');
    return identity;
  } finally {
    stderr.destroy();
    readiness.destroy();
    program.unref();
  }
}

function start(holderPid: number, line: number): Program {
  try {
    return startProgram({
      file: 'slirp4netns',
      args: [
        ...['--configure', '--mtu=65520', '--disable-host-loopback', '--enable-sandbox', '--enable-seccomp'],
        ...['--exit-fd=3', '--ready-fd=4', String(holderPid), uplinkInterface],
      ],
      stdio: ['ignore', 'ignore', 'output', line, 'output'],
      // The uplink outlives the process that starts it.
      ownSession: true,
    });
  } catch (error) {
    throw new RuntimeError('unsupported', 'slirp4netns could not be started', { cause: error });
  } finally {
    closeSync(line);
  }
}
