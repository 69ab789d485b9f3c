import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { createProgram } from './program.ts';

const toCommands = (command: Command, path: string[]): { path: string[]; command: Command }[] => [
  { path, command },
  ...command
    .createHelp()
    .visibleCommands(command)
    .filter((child) => child.name() !== 'help')
    .flatMap((child) => toCommands(child, [...path, child.name()])),
];

const commands = toCommands(createProgram({ version: '0.0.0' }), ['skerry']);

const help = (command: Command, columns: number): string => {
  let text = '';
  command.configureOutput({
    writeOut: (piece) => {
      text += piece;
    },
    getOutHelpWidth: () => columns,
    getOutHasColors: () => false,
  });
  command.outputHelp();
  return text;
};

describe('the help of each command', () => {
  it.each(commands.map(({ path, command }) => [path.join(' '), command] as const))(
    '%s',
    async (name, command) => {
      const toWidth = (text: string): number => Math.max(...text.split('\n').map((line) => line.length));
      expect(toWidth(help(command, 120))).toBeLessThanOrEqual(130);
      const text = help(command, 80);
      expect(toWidth(text)).toBeLessThanOrEqual(130);
      await expect(text).toMatchFileSnapshot(`../screens/80/${name.replaceAll(' ', '-')}.txt`);
    },
  );
});

/** A program of its own, whose commands do nothing but parse, and throw for what they do not know. */
const createParser = (): Command => {
  const program = createProgram({ version: '0.0.0' });
  for (const { command } of toCommands(program, [])) {
    command
      .configureOutput({ writeOut: () => undefined, writeErr: () => undefined })
      .exitOverride((error) => {
        throw error;
      });
    if (isCommand(command)) command.action(() => undefined);
  }
  return program;
};

/** Whether it does something itself, besides what is below it. */
const isCommand = (command: Command): boolean =>
  command.commands.length === 0 || command.options.some(({ long }) => long === '--listen');

/** The lines below "Examples:". */
const readExamples = (command: Command): string[] =>
  (/\nExamples:\n((?: {2}.+\n?)+)/.exec(help(command, 80))?.[1] ?? '').trim().split(/\n\s*/).filter(Boolean);

/** The words of the call of skerry in a line of a shell, without what the shell does with them. */
const toWords = (line: string): string[] => {
  const [, call = ''] = /(?:^|\s|\()skerry ((?:[^|<>)']|'[^']*')*)/.exec(line) ?? [];
  return [...call.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');
};

describe('the examples of each command', () => {
  it.each(
    commands
      .filter(({ command }) => isCommand(command))
      .map(({ path, command }) => [path.join(' '), command] as const),
  )('of %s are understood by it', async (name, command) => {
    const examples = readExamples(command);
    expect(examples.length).toBeGreaterThan(0);
    for (const line of examples) {
      expect(line.length, line).toBeLessThanOrEqual(78);
      const parser = createParser();
      let ran = '';
      for (const each of toCommands(parser, ['skerry']))
        each.command.hook('preAction', () => {
          ran = each.path.join(' ');
        });
      await parser.parseAsync(toWords(line), { from: 'user' });
      expect(ran, line).toBe(name);
    }
    // The commands that pass on the status of a program set their own before they start.
    process.exitCode = 0;
  });

  it('would be found if they had an option that does not exist', async () => {
    const words = toWords(`skerry sandbox list --no-such-option 'a (b)' | grep c`);
    expect(words).toEqual(['sandbox', 'list', '--no-such-option', 'a (b)']);
    await expect(createParser().parseAsync(words, { from: 'user' })).rejects.toThrow(/no-such-option/);
  });
});

it('has a description of every command, argument and option', () => {
  const missing = commands.flatMap(({ path, command }) => [
    ...(command.description() === '' ? [path.join(' ')] : []),
    ...command.options
      .filter(({ description }) => description === '')
      .map(({ long }) => `${path.join(' ')} ${long}`),
    ...command.registeredArguments
      .filter(({ description }) => description === '')
      .map((argument) => `${path.join(' ')} <${argument.name()}>`),
  ]);
  expect(missing).toEqual([]);
});
