// Images whose programs are linked with shared libraries, those of glibc and of musl, from a registry to a sandbox.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Sandbox } from '@skerry/sdk';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Stack, startStack } from '../stack/stack.ts';
import { type DebianRegistry, startDebianRegistry } from './debian-registry.ts';
import { makeGlibcFolder, makeMuslFolder } from './image-folders.ts';
import { createTemplateBuilds } from './template-builds.ts';

let stack: Stack;
let registry: DebianRegistry;
const dataDir = mkdtempSync(join(tmpdir(), 'skerry-image-kinds-'));
const { build } = createTemplateBuilds(() => stack);

/** Prints its user, its folder, a variable and a file; linked with musl. */
const report = `
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#ifdef __GLIBC__
#error "not with glibc"
#endif
int main(int count, char **args) {
  char text[4096];
  struct passwd *account = getpwuid(geteuid());
  printf("%s %s %s\\n", account ? account->pw_name : "none", getcwd(text, sizeof text), getenv("COLOUR"));
  FILE *file = fopen(args[1], "r");
  if (file == NULL) { perror(args[1]); return 3; }
  while (fgets(text, sizeof text, file)) fputs(text, stdout);
  return 0;
}`;
const programs = ['sh', 'cat', 'id', 'chown', 'mkdir'];
const folders = {
  glibc: makeGlibcFolder([...programs, 'bash', 'stat']),
  musl: makeMuslFolder({ name: 'report', source: report }, [...programs, 'stat', 'echo', 'pwd']),
};

// A report by programs that are linked with glibc.
const script = '#!/bin/bash\necho "$(id -un) $PWD $COLOUR"\ncat "$1"\n';
writeFileSync(join(folders.glibc, 'bin/report'), script, { mode: 0o755 });

beforeAll(async () => {
  registry = await startDebianRegistry();
  for (const [kind, folder] of Object.entries(folders))
    await registry.push(`test/${kind}`, { folder, env: ['PATH=/bin', 'COLOUR=blue'] });
  stack = await startStack({ dataDir, args: ['--registry', registry.host] });
});
afterAll(async () => {
  await stack.down();
  await registry[Symbol.asyncDispose]();
  for (const folder of [...Object.values(folders), dataDir]) rmSync(folder, { recursive: true, force: true });
});

it.each([
  { kind: 'glibc' as const, shell: /^\d+\.\d+/, failure: 1 },
  { kind: 'musl' as const, shell: /^\n$/, failure: 3 },
])(
  'programs of an image of $kind run in the steps of a build and in sandboxes, as their users and with its files',
  async ({ kind, shell, failure }) => {
    const steps = [
      { type: 'RUN', args: ['echo made > note && report note > first'] },
      { type: 'USER', args: ['worker'] },
      { type: 'WORKDIR', args: ['/srv/app'] },
      { type: 'RUN', args: ['echo mine > note && report note > second'] },
    ];
    const done = await build(kind, { fromImage: `${registry.host}/test/${kind}`, steps });
    expect(done.reason).toBeUndefined();
    await using sandbox = await Sandbox.create({ ...stack.connection, template: kind, timeoutMs: 120_000 });
    expect(await sandbox.files.read('/home/user/first')).toBe('user /home/user blue\nmade\n');
    expect(await sandbox.files.read('/srv/app/second')).toBe('worker /srv/app blue\nmine\n');
    const run = async (command: string, options: object = {}): Promise<string> =>
      (await sandbox.commands.run(command, options)).stdout;
    await sandbox.files.write('/home/user/note', 'written\n');
    expect(await run('report note')).toBe('worker /srv/app blue\nmine\n');
    expect(await run('report note', { user: 'user', cwd: '~' })).toBe('user /home/user blue\nwritten\n');
    expect(await run('report /srv/app/note', { user: 'root', cwd: '/srv' })).toBe('root /srv blue\nmine\n');
    expect(await run('id -u; stat -c "%U %a" /srv/app/note', { user: 'worker' })).toMatch(
      /^\d{4}\nworker 644\n$/,
    );
    // The shell of the image itself, or the one that skerry adds to an image without bash.
    expect(await run('echo $BASH_VERSION')).toMatch(shell);
    await expect(sandbox.commands.run('report /none')).rejects.toMatchObject({ exitCode: failure });
  },
);
