import { readFileSync, writeFileSync } from 'node:fs';
import { isRuntimeError } from '../../../error.ts';

/** How a bundle names an existing user namespace: with its id mappings, or without. */
type NamespaceForm = 'mapped' | 'plain';

/** The form with which a container was started, by the path of the program. */
const proven = new Map<string, NamespaceForm>();

/**
 * Runs `start` with the bundle at `configPath`, which names a user namespace and its mappings, in the form that
 * `program` accepts: runc 1.1.5 rejects the path without the mappings, runc 1.1.15 the path with them. The first start
 * finds out, and this process remembers it. Rejects as the last `start`: the error contains the log of the program with
 * its messages for both forms. The file contains the form that was tried last.
 */
export const startInForm = async (options: {
  program: string;
  configPath: string;
  signal: AbortSignal;
  start: () => Promise<void>;
}): Promise<void> => {
  const { program, configPath, signal, start } = options;
  const form = proven.get(program);
  if (form === 'plain') removeMappings(configPath);
  try {
    await start();
    proven.set(program, form ?? 'mapped');
  } catch (refusal) {
    if (form !== undefined || !isRuntimeError(refusal, 'internal') || signal.aborted) throw refusal;
    removeMappings(configPath);
    await start();
    proven.set(program, 'plain');
  }
};

function removeMappings(configPath: string): void {
  const config = JSON.parse(readFileSync(configPath, 'utf8')) as { linux: Record<string, unknown> };
  const { uidMappings: _uids, gidMappings: _gids, ...linux } = config.linux;
  writeFileSync(configPath, JSON.stringify({ ...config, linux }), { mode: 0o600 });
}
