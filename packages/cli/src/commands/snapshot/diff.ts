import { snapshots } from '@skerry/sdk';
import { Command } from 'commander';
import { type resolveConnection, withConnectionFlags } from '../../connection.ts';
import { findReferences } from '../../find-reference.ts';
import { printJson, printLine } from '../../output/print.ts';

type Flags = Parameters<typeof resolveConnection>[0] & { json?: boolean };

const marks = { added: '+', removed: '-', changed: '~' } as const;

/** `skerry snapshot diff [FROM] TO`: one changed path a line. */
export function diffSnapshotsCommand(): Command {
  return withConnectionFlags(
    new Command('diff')
      .description('compare the files of snapshots, templates and sandboxes')
      .argument('<from>', 'id or name; with one argument, the state that it began with')
      .argument('[to]', 'id or name')
      .option('--json', 'one JSON object a line'),
  ).action(async (first: string, second: string | undefined, flags: Flags) => {
    const texts = second === undefined ? [first] : [first, second];
    const { ids, connection } = await findReferences(['sandbox', 'snapshot', 'template'], texts, flags);
    const [to = first, from] = ids.toReversed();
    const differences = await snapshots.diff(to, { ...connection, from });
    for (const difference of differences) {
      const { path, change, fields } = difference;
      const what = fields.length > 0 ? `  (${fields.join(', ')})` : '';
      if (flags.json) printJson(difference);
      else printLine(`${marks[change]} ${toOneLine(path)}${what}`);
    }
  });
}

/** A name may contain any byte, also control characters that move the cursor. */
const toOneLine = (path: string): string => (/[\p{C}\\]/u.test(path) ? JSON.stringify(path) : path);
