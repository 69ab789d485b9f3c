import { parseArgs } from 'node:util';

/** What a run of the lab was asked to do. */
export interface LabArguments {
  /** Names of hosts; all of the table when empty. */
  only: string[];
  /** Names of rows; all that are not on request when empty. */
  rows: string[];
  skip: string[];
  short: boolean;
  /** Leave the guest running and print how to reach it. */
  keep: boolean;
  /** Write each host's table into docs/hosts.md. */
  write: boolean;
  /** How many times as long as usual everything may take: more than 1 where this machine is busy. */
  patience: number;
  /** Folder of what is built once. Default: `.skerry/hosts` of the checkout. */
  cache?: string;
}

/** Turns the command line into what to do. Throws with the known names for a host or row that is not in the tables. */
export function parseLabArguments(
  argv: readonly string[],
  known: { hosts: readonly string[]; rows: readonly string[] },
): LabArguments {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      only: { type: 'string', multiple: true, default: [] },
      row: { type: 'string', multiple: true, default: [] },
      skip: { type: 'string', multiple: true, default: [] },
      short: { type: 'boolean', default: false },
      keep: { type: 'boolean', default: false },
      write: { type: 'boolean', default: false },
      patience: { type: 'string', default: '1' },
      cache: { type: 'string' },
    },
  });
  const { only, row, skip, short, keep, write, cache } = values;
  const listed = {
    only: toKnown('--only', only, known.hosts),
    rows: toKnown('--row', row, known.rows),
    skip: toKnown('--skip', skip, known.rows),
  };
  if (short && listed.rows.length > 0) throw new Error('--short chooses the rows itself: leave out --row');
  if (short && listed.only.length > 1) throw new Error('--short takes one host: give --only once');
  if (keep && listed.only.length !== 1 && !short)
    throw new Error('--keep leaves one guest running: name it with --only');
  const patience = Number(values.patience);
  if (!(patience > 0)) throw new Error(`--patience takes a positive number; got ${values.patience}`);
  return { ...listed, short, keep, write, patience, ...(cache === undefined ? {} : { cache }) };
}

/** A flag may be repeated, and each may hold several names with commas. */
function toKnown(flag: string, given: readonly string[], known: readonly string[]): string[] {
  const names = given.flatMap((text) => text.split(',')).filter((name) => name !== '');
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) throw new Error(`${flag} takes ${known.join(', ')}; got ${unknown}`);
  return names;
}
