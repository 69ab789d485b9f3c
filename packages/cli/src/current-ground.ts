import { readFileSync } from 'node:fs';
import { groundVariable } from '@skerry/runtime/ground-variable';

/** The folder of the ground whose root this process is; undefined for one that is in none, as root of the host. */
export function currentGround(): string | undefined {
  const stateDir = process.env[groundVariable];
  return stateDir && process.getuid?.() === 0 && hasIdsOfItsOwn() ? stateDir : undefined;
}

/** The host's own user namespace maps every id to itself: user_namespaces(7). */
function hasIdsOfItsOwn(): boolean {
  const [line = ''] = readFileSync('/proc/self/uid_map', 'utf8').split('\n');
  return line.trim().split(/\s+/).join(' ') !== '0 0 4294967295';
}
