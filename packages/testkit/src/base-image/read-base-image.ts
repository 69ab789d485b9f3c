import type { Sandbox } from '@skerry/sdk';
import { newerTerminals, promisedPrograms, promisedTerminals } from './promised-programs.ts';

/** What a sandbox of the template `base` has. */
export interface BaseImageContents {
  /** The distribution, as os-release(5) names it. */
  distribution: string;
  /** The first line of what each program prints for its version, in the order of `promisedPrograms`. */
  versions: readonly { name: string; firstLine: string }[];
  /** All packages of the distribution. */
  packages: readonly { name: string; version: string }[];
  locales: readonly string[];
  /** Those of `promisedTerminals` and `newerTerminals` that are known. */
  terminals: readonly string[];
  sizeMiB: number;
}

const mark = '== ';

/** Reads it with one command, as the user `user`. A program that fails, or prints nothing, has an empty line. */
export async function readBaseImage(sandbox: Sandbox): Promise<BaseImageContents> {
  const terminals = [...promisedTerminals, ...newerTerminals];
  const parts: Record<string, string> = {
    distribution: '. /etc/os-release; echo "$PRETTY_NAME"',
    versions: promisedPrograms
      .map(({ command }) => `{ out=$(${command} 2>&1) && head -n 1 <<< "$out" || echo; }`)
      .join('\n'),
    packages: `dpkg-query -W -f '\${Package} \${Version}\\n'`,
    locales: 'locale -a',
    terminals: `for name in ${terminals.join(' ')}; do infocmp "$name" > /dev/null 2>&1 && echo "$name"; done; true`,
    sizeMiB:
      'sudo du -sm / --exclude=/proc --exclude=/sys --exclude=/.envd --exclude=/dev 2> /dev/null | cut -f 1',
  };
  const script = Object.entries(parts).map(([name, command]) => `echo '${mark}${name}'\n${command}`);
  const { stdout } = await sandbox.commands.run(script.join('\n'), { timeoutMs: 120_000 });
  const sections = Object.fromEntries(
    stdout
      .trimEnd()
      .split(new RegExp(`^${mark}`, 'm'))
      .slice(1)
      .map((section): [string, string[]] => {
        const [name = '', ...lines] = section.trimEnd().split('\n');
        return [name, lines];
      }),
  );
  const lines = (name: string): string[] => sections[name] ?? [];
  const one = (name: string): string => lines(name)[0] ?? '';
  return {
    distribution: one('distribution'),
    versions: promisedPrograms.map(({ name }, index) => ({
      name,
      firstLine: lines('versions')[index] ?? '',
    })),
    packages: lines('packages').map((line) => {
      const [name = '', version = ''] = line.split(' ');
      return { name, version };
    }),
    locales: lines('locales'),
    terminals: lines('terminals'),
    sizeMiB: Number(one('sizeMiB')),
  };
}
