import { toHeading, toSection } from '../markdown.ts';

/** A command, such as `skerry sandbox fork`, and its help screen. */
export interface CommandHelp {
  name: string;
  screen: string;
}

/** The page of all commands: the help of each under a heading with its name. */
export const toCommandPage = (commands: readonly CommandHelp[]): string =>
  `${toSection(
    '# Commands',
    'What `skerry COMMAND --help` prints.',
    ...commands.map(({ name, screen }) =>
      toSection(toHeading(2, name, name.replaceAll(' ', '-')), `\`\`\`\n${screen.trimEnd()}\n\`\`\``),
    ),
  )}\n`;
