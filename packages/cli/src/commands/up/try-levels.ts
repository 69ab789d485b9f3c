import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import type { IsolationLevel } from '@skerry/contract/isolation';
import type { ProbeResult } from '@skerry/runtime';

/** The probes of `skerry doctor` that start a sandbox of the level: one that succeeds is enough. */
const probes: Record<IsolationLevel, readonly string[]> = { container: ['crun', 'runc'], gvisor: ['gvisor'] };

/**
 * Tries levels by `skerry doctor`, a process of its own beside the server, which keeps what it proves for the next start. Resolves with a
 * line for each, and with none when the signal ends the try; its test sandboxes are removed by then.
 */
export async function tryLevels(
  levels: readonly IsolationLevel[],
  options: { dataDir: string; programsDir: string; command: string; signal: AbortSignal },
): Promise<string[]> {
  const { dataDir, programsDir, command, signal } = options;
  if (levels.length === 0 || signal.aborted) return [];
  const argv = [...process.execArgv, process.argv[1] ?? '', 'doctor', '--json', '--data', dataDir];
  // In a session of its own, as Ctrl-C of this terminal would end the programs that remove its sandboxes.
  const doctor = spawn(process.execPath, argv, {
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { ...process.env, SKERRY_IMAGES_DIR: programsDir },
  });
  // A host without room for it still serves: the output is empty then, and the line says that nothing was tried.
  doctor.on('error', () => {});
  const stop = (): void => void doctor.kill('SIGTERM');
  signal.addEventListener('abort', stop);
  try {
    const output = await text(doctor.stdout);
    return signal.aborted ? [] : levels.map((level) => toLine(level, output, command));
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** What the output of `skerry doctor --json` says of a level. */
export function toLine(level: IsolationLevel, output: string, command: string): string {
  const found = readResults(output).filter(({ name }) => probes[level].includes(name));
  if (found.some(({ ok }) => ok)) return `level ${level} works here: ${command} up --isolation ${level}`;
  return found[0] === undefined
    ? `level ${level} could not be tried: see "${command} doctor"`
    : `level ${level} does not start here: ${found[0].found}`;
}

function readResults(output: string): ProbeResult[] {
  try {
    return JSON.parse(output) as ProbeResult[];
  } catch {
    // The doctor ended before it printed: there are no results.
    return [];
  }
}
