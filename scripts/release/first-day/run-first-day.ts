import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type CodeBlock, readCodeBlocks } from '../../../packages/testkit/src/pages/code-blocks.ts';
import { endOfBlock, toPrograms, toSource } from '../../../packages/testkit/src/pages/run-page.ts';
import { run } from '../run.ts';
import type { Step } from '../run-steps.ts';
import { type NewMachine, openNewMachine } from './new-machine.ts';
import { openTerminal, type Terminal } from './terminal.ts';

const page = 'docs/guides/first-day.md';

/** The last line that `skerry up` prints for people. */
const isReady = /\nCtrl-C stops[\s\S]*\n {2}sudo skerry down\n/;

/**
 * Does what the page on the first day says, line by line, on a machine that knows nothing of skerry but this registry: installs the
 * command, starts a server, pastes into a second terminal what it prints, and types the rest of the page there. It knows no address, key,
 * path or option by itself.
 */
export async function runFirstDay(
  step: Step,
  { folder, npm }: { folder: string; npm: Record<string, string> },
): Promise<void> {
  // The page is typed as it stands: also what other tests leave out.
  const blocks = readCodeBlocks(page).map(
    ({ language, text, line }): CodeBlock => ({ language, text, line }),
  );
  const [program] = toPrograms(blocks);
  const [start, ...rest] = program?.blocks ?? [];
  if (program === undefined || start === undefined) throw new Error(`${page} has no program`);
  const [readme] = readCodeBlocks('packages/cli/README.md');
  await step('the first day begins as the README of the command does', () => {
    if (readme?.text !== start.text) throw new Error(`the first blocks of it and of ${page} differ`);
  });
  mkdirSync(folder);
  const machine = await openNewMachine(folder, npm);
  const first = openTerminal({ ...machine, cwd: machine.home });
  try {
    const lines = start.text.trimEnd().split('\n');
    const up = lines.pop() ?? '';
    for (const line of lines) {
      const isDone = await step(`the first day: ${withoutComment(line)}`, async () => {
        await first.type(line);
        return true;
      });
      if (isDone === undefined) return;
    }
    const screen = await step(`the first day: ${withoutComment(up)}, with its base image`, () =>
      first.typeUntil(up, isReady),
    );
    if (screen === undefined) return;
    await step('the first day: what it prints, and the rest of the page, to a fork and the end', () =>
      typeTheRest(machine, { pasted: findPasted(screen), rest, expected: program.expected.slice(1) }),
    );
    await step('the first day: the server ends with it', () => first.untilEnded(0));
  } finally {
    await end(machine, first);
  }
}

const withoutComment = (line: string): string => line.replace(/\s+#.*$/, '');

/** The lines to paste into another terminal: those below that heading. */
function findPasted(screen: string): string[] {
  const [, lines = ''] = /\nIn another terminal:\n\n((?: {2}.*\n)+)/.exec(screen) ?? [];
  if (lines === '') throw new Error(`no lines to paste:\n${screen}`);
  return lines.trimEnd().split('\n');
}

/** Throws when a line fails, and when a block prints something else than the page shows. */
function typeTheRest(
  { through, env, home }: NewMachine,
  { pasted, rest, expected }: { pasted: string[]; rest: CodeBlock[]; expected: (string | undefined)[] },
): void {
  const paste: CodeBlock = { language: 'sh', text: `${pasted.join('\n')}\n`, line: 0 };
  const file = join(home, '..', 'second-terminal.sh');
  writeFileSync(file, toSource({ language: 'sh', blocks: [paste, ...rest], expected: [] }));
  const empty = join(home, 'empty');
  mkdirSync(empty);
  const [program, ...argv] = through;
  // The folder of the namespace's command is the home of its user.
  const said = run(program, [...argv, 'sh', '-c', 'cd empty && exec bash "$1"', 'sh', file], {
    cwd: home,
    env: { ...env, SKERRY_API_URL: '', SKERRY_API_KEY: '', SKERRY_DOMAIN: '' },
  });
  const printed = said.split(`${endOfBlock}\n`);
  for (const [at, wanted] of ['hello\n', ...expected].entries()) {
    if (wanted !== undefined && printed[at] !== wanted)
      throw new Error(`block ${at} of the second terminal printed ${printed[at]} instead of ${wanted}`);
  }
}

/** Ends what a failed step has left, and the machine. */
async function end(machine: NewMachine, first: Terminal): Promise<void> {
  const [program, ...argv] = machine.through;
  try {
    run(program, [...argv, 'sh', '-c', '! command -v skerry || skerry down || true'], {
      cwd: machine.home,
      env: machine.env,
    });
  } finally {
    await first.close();
    await machine.close();
    rmSync(machine.home, { recursive: true, force: true });
  }
}
