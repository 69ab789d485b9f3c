import { readFileSync, writeFileSync } from 'node:fs';
import { isRuntimeError } from '../../../error.ts';

/** How a bundle names a user namespace that is there: with the ids that it maps, or without. */
type NamespaceForm = 'mapped' | 'plain';

/** What has started a container, by the path of the program. */
const proven = new Map<string, NamespaceForm>();

/**
 * Runs `start` with the bundle at `configPath`, which names a user namespace and its mappings, in the form that `program`
 * takes: runc 1.1.5 refuses the path without the mappings, runc 1.1.15 the path with them. Which one holds is found out
 * by the first start, and kept for this process. Rejects with what the last `start` rejects with: the log of the program,
 * which is part of that, has what it said to both forms. The file holds the form that was tried last.
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
