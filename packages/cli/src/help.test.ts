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

describe.each([80, 120])('the help of each command, %d columns wide', (columns) => {
  it.each(commands.map(({ path, command }) => [path.join(' '), command] as const))(
    '%s',
    async (name, command) => {
      const file = `../screens/${columns}/${name.replaceAll(' ', '-')}.txt`;
      const text = help(command, columns);
      expect(Math.max(...text.split('\n').map((line) => line.length))).toBeLessThanOrEqual(130);
      await expect(text).toMatchFileSnapshot(file);
    },
  );
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
