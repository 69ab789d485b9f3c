import { promisedPrograms } from './promised-programs.ts';
import type { BaseImageContents } from './read-base-image.ts';

const toRow = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
const toTable = (head: readonly string[], rows: readonly (readonly string[])[]): string => {
  const widths = head.map((cell, column) =>
    Math.max(cell.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const pad = (row: readonly string[]): string[] =>
    row.map((cell, column) => cell.padEnd(widths[column] ?? 0));
  const line = widths.map((width) => '-'.repeat(width));
  return [head, line, ...rows].map((row) => toRow(pad(row))).join('\n');
};
const inCode = (names: readonly string[]): string => names.map((name) => `\`${name}\``).join(', ');

/** The version in the first line that a program of that name prints; undefined when there is none. */
export const findVersion = (name: string, firstLine: string): string | undefined =>
  promisedPrograms.find((program) => program.name === name)?.pattern.exec(firstLine)?.[1];

/**
 * docs/base-image.md. `madeOn` is the day, in ISO 8601, on which the image was made, and `requested` names the packages that
 * it was made of.
 */
export function toBasePage(
  contents: BaseImageContents,
  { madeOn, requested }: { madeOn: string; requested: readonly string[] },
): string {
  const { distribution, versions, packages, locales, terminals, sizeMiB } = contents;
  const programs = versions.map(({ name, firstLine }) => [`\`${name}\``, findVersion(name, firstLine) ?? '']);
  const named = packages
    .filter(({ name }) => requested.includes(name))
    .map(({ name, version }) => [`\`${name}\``, version]);
  return `# The template base

\`base\` has what agents expect: Python with pip and venv, Node.js and npm, a compiler, git, and tools that fetch, search and edit files.

A server makes it at its first start in a folder of images, from the packages of the host's own distribution and from releases of Node.js and npm that are
pinned. The registry of npm is that of the host's npm. So versions differ with the host and the day. Those below are of ${distribution}, from its mirror
on ${madeOn}. \`node scripts/base-image.ts --write\` makes the image and writes this page. A test runs each program.

## Programs

${toTable(['Program', 'Version'], programs)}

- \`pip install\` works without an environment: as \`user\` into \`~/.local\`, with \`sudo\` into \`/usr/local\`. \`python3 -m venv\` needs no network.
- \`npm install --global\` needs no \`sudo\`: Node.js and npm in \`/usr/local\` are owned by \`user\`.
- Manuals, documentation but licences, and translations are left out, also of packages that you install.
- \`setcap\` gives a program each capability that root in the sandbox has, such as \`cap_net_bind_service\`. It refuses others, such as \`cap_net_raw\`: the program
  could not start. Packages of Debian then set the setuid bit, and \`ping\` works without either. At level \`gvisor\` no file has capabilities.
- Each process has \`SKERRY_CPU_COUNT\` and \`SKERRY_MEMORY_MB\`, the [limits of its sandbox](guides/limits-and-isolation.md).

## Locales and terminals

The locales are ${inCode(locales)}. \`LANG\` is not set. \`locale-gen\` makes others.

Known values of \`TERM\` include ${inCode(terminals)}. \`xterm-ghostty\` is known where the distribution has it.

## Packages

The image has ${packages.length} packages and ${sizeMiB} MiB. These were asked for, and the others came with them:

${toTable(['Package', 'Version'], named)}

## A smaller one

\`skerry up --base minimal\` makes \`base\` of bash, coreutils, curl, git, iproute2, procps, Python without pip, sudo and tput alone, in a third of the time and the
space. Sandboxes and snapshots that exist keep the image with which they began. On a server with the full one, \`skerry template build --ready-made base-minimal
small\` makes a template of these from an image of Docker Hub.
`;
}
