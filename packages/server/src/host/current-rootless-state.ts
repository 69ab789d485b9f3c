import { readFileSync } from 'node:fs';
import { rootlessStateVariable } from '@skerry/contract/rootless-state-variable';

/** The state folder of the rootless namespace of this process; undefined outside of one, as root of the host. */
export function currentRootlessState(): string | undefined {
  const stateDir = process.env[rootlessStateVariable];
  return stateDir && process.getuid?.() === 0 && hasIdsOfItsOwn() ? stateDir : undefined;
}

/** The host's own user namespace maps every id to itself: user_namespaces(7). */
function hasIdsOfItsOwn(): boolean {
  const [line = ''] = readFileSync('/proc/self/uid_map', 'utf8').split('\n');
  return line.trim().split(/\s+/).join(' ') !== '0 0 4294967295';
}
