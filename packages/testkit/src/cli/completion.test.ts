// The scripts of `skerry completion`, as each shell reads them.
import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { createReader } from '../pages/reader.ts';
import { openTerminal } from './open-terminal.ts';

/** Where `skerry` is on the path. No server is asked. */
const openFolder = () =>
  createReader({
    apiUrl: 'http://127.0.0.1:1',
    apiKey: 'k',
    domain: 'localhost',
    sandboxUrl: 'http://127.0.0.1:1',
  });

const isMissing = (shell: string): boolean => spawnSync(shell, ['--version']).error !== undefined;

it('completes commands and options in bash, without a package for that', async () => {
  using folder = openFolder();
  const complete = (...words: string[]): Promise<string> =>
    folder.run('bash', [
      '-c',
      `source <(skerry completion bash)
      function=$(complete -p skerry | sed -E 's/.*-F ([^ ]+).*/\\1/')
      COMP_WORDS=(skerry "$@") COMP_CWORD=$# COMP_LINE="skerry $*" COMP_POINT=\${#COMP_LINE}
      $function skerry "\${COMP_WORDS[COMP_CWORD]}" "\${COMP_WORDS[COMP_CWORD-1]}"
      printf '%s\\n' "\${COMPREPLY[@]}"`,
      'bash',
      ...words,
    ]);
  expect(
    (await complete('sandbox', 'ex'))
      .trim()
      .split('\n')
      .map((line) => line.trim()),
  ).toEqual(expect.arrayContaining(['exec']));
  expect(await complete('sandbox', 'list', '--st')).toContain('--state');
});

it.skipIf(isMissing('fish'))('completes commands in fish', async () => {
  using folder = openFolder();
  const script = 'skerry completion fish | source; complete -C "skerry sandbox ex"';
  expect(await folder.run('fish', ['--no-config', '-c', script])).toMatch(/^exec\b/m);
});

it.skipIf(isMissing('zsh'))('completes commands in zsh', async () => {
  using folder = openFolder();
  const path = await folder.run('sh', ['-c', 'printf %s "$PATH"']);
  const here = openTerminal('zsh', ['-f'], {
    cwd: folder.path,
    env: { ...process.env, PATH: path, PS1: 'ready> ' },
  });
  await here.see(/ready> $/);
  here.terminal.write(
    'autoload -U compinit; compinit -u -D; source <(skerry completion zsh); echo "[loaded]"\r',
  );
  await here.see(/\n\[loaded\]\n/);
  here.terminal.write('skerry sandbox expl\t');
  await here.see(/skerry sandbox explain/);
  here.terminal.write('\u0003\u0004');
});
