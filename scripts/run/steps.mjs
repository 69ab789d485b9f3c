// Runs the programs of a job, one after the other. Ctrl-C ends the one that runs, and this process, with one line.
import { spawn } from 'node:child_process';
import { constants } from 'node:os';

const quietMs = 2000;
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/** The status of shells for a program that a signal has ended. */
const toStatus = (code, signal) => code ?? 128 + constants.signals[signal];

/**
 * Resolves with the status of a child and the first signal that this process got meanwhile. `isForwarded` says of each signal whether
 * the child gets it from here. After one, output that others still hold open is not awaited.
 */
async function untilEnded(child, isForwarded) {
  let stoppedBy;
  const handlers = signals.map((signal) => [
    signal,
    () => {
      if (isForwarded(signal)) child.kill(signal);
      stoppedBy ??= signal;
    },
  ]);
  for (const [signal, handler] of handlers) process.on(signal, handler);
  const [code, signal] = await new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', (...end) => stoppedBy && resolve(end));
    child.on('close', (...end) => resolve(end));
  });
  for (const [name, handler] of handlers) process.off(name, handler);
  return { status: toStatus(code, signal), stoppedBy };
}

/**
 * Runs a preparing step, with its output on stderr so that a job's own output stays clean. A quiet one shows its output when it fails,
 * and `title` when it takes more than a moment. Exits when the step fails, and when a signal stops it.
 */
export async function runStep([command, ...argv], { cwd, env, title }) {
  const output = [];
  const child = spawn(command, argv, { cwd, env, stdio: ['ignore', title ? 'pipe' : 2, title ? 'pipe' : 2] });
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => output.push(chunk));
  const timer = title && setTimeout(() => console.error(title), quietMs);
  const { status, stoppedBy } = await untilEnded(child, () => true).catch((error) => {
    console.error(`${command}: ${error.message}`);
    return { status: 1 };
  });
  clearTimeout(timer);
  if (stoppedBy !== undefined) {
    console.error(`stopped while ${title ?? `running ${command}`}`);
    process.exit(toStatus(null, stoppedBy));
  }
  if (status === 0) return;
  process.stderr.write(Buffer.concat(output));
  process.exit(status);
}

/** Runs the job itself on this terminal, and exits with its status. */
export async function runLast([command, ...argv], { cwd, env }) {
  const child = spawn(command, argv, { cwd, env, stdio: 'inherit' });
  // A terminal sends Ctrl-C to all programs in its foreground. To some, a second one means to drop everything.
  const isOnTerminal = [process.stdin, process.stdout, process.stderr].some(({ isTTY }) => isTTY);
  const { status } = await untilEnded(child, (signal) => signal !== 'SIGINT' || !isOnTerminal);
  process.exit(status);
}
