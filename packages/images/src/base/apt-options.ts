import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { findProgram } from '../run-program.ts';

const wanted = /^Acquire::(?:https?::(?:.+::)?Proxy|Check-Valid-Until|Check-Date|Retries|ForceIPv[46])$/i;

/**
 * The options that the host's apt needs to reach its mirror: proxies, and whether it accepts package lists of any age.
 * Empty on a host without apt.
 */
export async function readHostAptOptions(): Promise<[key: string, value: string][]> {
  let file: string;
  try {
    file = findProgram('apt-config', 'apt');
  } catch {
    return []; // An image of a registry may be made on any host.
  }
  const { stdout } = await promisify(execFile)(file, ['dump', 'Acquire']);
  return parseAptOptions(stdout);
}

/** Selects options from the output of `apt-config dump`: one `Key "value";` a line. */
export function parseAptOptions(dump: string): [key: string, value: string][] {
  return [...dump.matchAll(/^(\S+) "([^"\n]+)";$/gm)]
    .map(([, key = '', value = '']): [string, string] => [key, value])
    .filter(([key]) => wanted.test(key));
}
