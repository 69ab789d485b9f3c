import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { CopyStep } from '../definition.ts';
import { findFiles } from './find-files.ts';
import { hashFiles } from './hash-files.ts';
import { openBuildFolder } from './open-folder.ts';
import { packFiles } from './pack-files.ts';

/** A new folder with these files; a value that begins with `->` is the target of a link. */
function makeFolder(files: Record<string, string>): string {
  const folder = mkdtempSync(join(tmpdir(), 'skerry-context-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [path, text] of Object.entries(files)) {
    const file = join(folder, path);
    mkdirSync(dirname(file), { recursive: true });
    if (text.startsWith('->')) symlinkSync(text.slice(2), file);
    else writeFileSync(file, text);
    if (!text.startsWith('->')) chmodSync(file, 0o644);
  }
  return folder;
}

const namesOf = (folder: string, src: string, layout: 'paths' | 'flat' = 'paths', ignoreFile?: string) => {
  const found = findFiles({ src, layout }, openBuildFolder(folder, ignoreFile));
  return [found.src, ...found.files.map(({ name }) => name)];
};

const hashOf = async (folder: string, src = '.', args: string[] = []): Promise<string> => {
  const { files } = findFiles({ src, layout: 'paths' }, openBuildFolder(folder, undefined));
  return (await hashFiles(args, files, new AbortController().signal)).hash;
};

const project = {
  'app/main.py': 'print(1)\n',
  'app/lib/util.py': 'x = 1\n',
  'app/lib/.hidden': '',
  'README.md': '# it\n',
  'notes.txt': 'a',
};

describe('the files of a source', () => {
  it('are a file, a folder with all in it, or the whole context', () => {
    const folder = makeFolder(project);
    expect(namesOf(folder, './README.md')).toEqual(['README.md', 'README.md']);
    const app = ['app', 'app/lib', 'app/lib/.hidden', 'app/lib/util.py', 'app/main.py'];
    expect(namesOf(folder, 'app/')).toEqual(['app', ...app]);
    expect(namesOf(folder, '.')).toEqual(['.', 'README.md', ...app, 'notes.txt']);
  });

  it('are what a pattern matches, with their paths', () => {
    const folder = makeFolder(project);
    expect(namesOf(folder, '*.md')).toEqual(['*.md', 'README.md']);
    expect(namesOf(folder, 'app/**/*.py')).toEqual(['app/**/*.py', 'app/lib/util.py', 'app/main.py']);
    expect(namesOf(folder, 'app/l?b')).toEqual(['app/l?b', 'app/lib', 'app/lib/.hidden', 'app/lib/util.py']);
  });

  const pick = (folder: string, step: Pick<CopyStep, 'src' | 'layout' | 'excludes'>) => {
    const found = findFiles(step, openBuildFolder(folder, undefined));
    return [found.src, ...found.files.map(({ name }) => name)];
  };

  it('keep the paths of their sources with "parents", with their folders', () => {
    const folder = makeFolder(project);
    const parents = (src: string) => pick(folder, { src, layout: 'parents' });
    expect(parents('./app/lib/util.py')).toEqual(['.', 'app', 'app/lib', 'app/lib/util.py']);
    expect(parents('app/./lib/util.py')).toEqual(['.', 'lib', 'lib/util.py']);
    expect(parents('app/./**/*.py')).toEqual(['.', 'lib', 'lib/util.py', 'main.py']);
    expect(parents('app/lib/.')).toEqual(['.', 'app', 'app/lib', 'app/lib/.hidden', 'app/lib/util.py']);
    expect(parents('app/./.')).toEqual(['.', 'lib', 'lib/.hidden', 'lib/util.py', 'main.py']);
    expect(() => parents('app/./../../x')).toThrow('is outside of the context');
    expect(() => parents('app/./none*')).toThrow('is not in the context');
  });

  it('leave out what a pattern of the step matches, by the path below the source, or by the name of a source', () => {
    const folder = makeFolder(project);
    const copied = (src: string, ...excludes: string[]) => pick(folder, { src, layout: 'flat', excludes });
    const app = ['app', 'app/lib', 'app/lib/.hidden', 'app/main.py'];
    expect(copied('app', 'lib/*.py')).toEqual(['app', ...app]);
    expect(copied('app', '**/*.py')).toEqual(['app', 'app', 'app/lib', 'app/lib/.hidden']);
    expect(copied('app', 'lib')).toEqual(['app', 'app', 'app/main.py']);
    expect(copied('*', '*.md', 'lib')).toEqual(['*', 'main.py', 'notes.txt']);
    expect(copied('.', 'app')).toEqual(['.', 'README.md', 'notes.txt']);
  });

  it('are those of a name that looks like a pattern, if there is one', () => {
    const folder = makeFolder({ 'app/[id].ts': '1', 'app/i.ts': '2' });
    expect(namesOf(folder, 'app/[id].ts')).toEqual(['app/\\[id].ts', 'app/[id].ts']);
    expect(namesOf(folder, 'app/[i]*')).toEqual(['app/[i]*', 'app/i.ts']);
  });

  it('are those of each match as if it were named alone, in a Dockerfile', () => {
    const folder = makeFolder({ ...project, 'docs/a.md': 'a', 'docs/b.md': 'b' });
    expect(namesOf(folder, 'app/*', 'flat')).toEqual(['app/*', 'app/.hidden', 'app/main.py', 'app/util.py']);
    expect(namesOf(folder, '*/*.md', 'flat')).toEqual(['*/*.md', 'a.md', 'b.md']);
    expect(namesOf(folder, '*.txt', 'flat')).toEqual(['notes.txt', 'notes.txt']);
  });

  it('are not those that .dockerignore leaves out, or the file that replaces it', () => {
    const folder = makeFolder({
      ...project,
      '.dockerignore': '# rules\n**/*.py\n!app/main.py\n.dockerignore\nnotes.txt\n',
      'out/deep/kept.txt': 'k',
      'out/gone.txt': 'g',
    });
    expect(namesOf(folder, 'app')).toEqual(['app', 'app', 'app/lib', 'app/lib/.hidden', 'app/main.py']);
    expect(() => namesOf(folder, 'notes.txt')).toThrow('.dockerignore leaves it out');
    const rules = join(folder, 'Other.dockerignore');
    writeFileSync(rules, 'out\n!out/deep/kept.txt\n');
    expect(namesOf(folder, 'out', 'paths', rules)).toEqual(['out', 'out', 'out/deep', 'out/deep/kept.txt']);
  });

  it('are links as they are, but what a source itself links to within the context', () => {
    const folder = makeFolder({
      'real/a': '1',
      'real/link': '->/etc/passwd',
      named: '->real',
      out: '->/etc',
    });
    expect(namesOf(folder, 'named')).toEqual(['named', 'named', 'named/a', 'named/link']);
    const { files } = findFiles({ src: 'real', layout: 'paths' }, openBuildFolder(folder, undefined));
    expect(files.at(-1)).toMatchObject({ name: 'real/link', type: 'symlink', target: '/etc/passwd' });
    expect(() => namesOf(folder, 'out')).toThrow('a link out of the context');
  });

  it('are never outside of the context, or left out, by way of a link', () => {
    const folder = makeFolder({
      '.dockerignore': '.env\nsecrets\n',
      '.env': 'TOKEN=1',
      'secrets/token': '1',
      'app/main.py': 'm',
      out: '->/etc',
      alias: '->app',
      config: '->.env',
      hidden: '->secrets',
    });
    expect(() => namesOf(folder, 'out/passwd')).toThrow('a link out of the context');
    expect(() => namesOf(folder, 'out/apt/*')).toThrow('not in the context');
    expect(() => namesOf(folder, 'out/*')).toThrow('not in the context');
    expect(namesOf(folder, 'alias/main.py')).toEqual(['alias/main.py', 'alias/main.py']);
    for (const src of ['config', 'hidden', 'hidden/token'])
      expect(() => namesOf(folder, src)).toThrow('.dockerignore leaves it out');
  });

  it('are refused outside of the context, when there are none, and when they are no files', () => {
    const folder = makeFolder(project);
    for (const src of ['../other', '/etc/passwd', 'app/../..'])
      expect(() => namesOf(folder, src)).toThrow('outside of the context');
    expect(() => namesOf(folder, 'nothing')).toThrow('not in the context');
    expect(() => namesOf(folder, '*.none')).toThrow('not in the context');
    execFileSync('mkfifo', [join(folder, 'app/pipe')]);
    expect(() => namesOf(folder, 'app')).toThrow('"app/pipe" is neither');
    expect(() => namesOf(join(folder, 'README.md'), '.')).toThrow('is no folder');
  });
});

describe('the hash', () => {
  it('is the same for the same files in another folder at another time', async () => {
    const [one, two] = [makeFolder(project), makeFolder(project)];
    utimesSync(join(two, 'notes.txt'), 1, 1);
    expect(await hashOf(one)).toMatch(/^[0-9a-f]{64}$/);
    expect(await hashOf(two)).toBe(await hashOf(one));
  });

  it('differs with a name, a content, a mode, a link target and an argument', async () => {
    const folder = makeFolder({ ...project, link: '->README.md' });
    const hashes = [await hashOf(folder), await hashOf(folder, '.', ['/dest'])];
    chmodSync(join(folder, 'notes.txt'), 0o755);
    hashes.push(await hashOf(folder));
    writeFileSync(join(folder, 'notes.txt'), 'b');
    hashes.push(await hashOf(folder));
    rmSync(join(folder, 'link'));
    symlinkSync('notes.txt', join(folder, 'link'));
    hashes.push(await hashOf(folder));
    mkdirSync(join(folder, 'empty'));
    hashes.push(await hashOf(folder));
    expect(new Set(hashes).size).toBe(hashes.length);
  });
});

describe('the archive', () => {
  const pack = async (folder: string) => {
    const { files } = findFiles({ src: '.', layout: 'paths' }, openBuildFolder(folder, undefined));
    const { contents } = await hashFiles([], files, new AbortController().signal);
    return { files, contents };
  };

  it('is what tar reads: the same names, modes, links and contents', async () => {
    const big = Array.from({ length: 200_000 }, (_, at) => at).join();
    const long = `${'long-'.repeat(30)}/${'name-'.repeat(30)}`;
    const folder = makeFolder({ ...project, big, [long]: 'deep', ünï: '€', link: '->app/main.py' });
    chmodSync(join(folder, 'app/main.py'), 0o755);
    const { files, contents } = await pack(folder);
    const into = makeFolder({});
    execFileSync('tar', ['-xzpf', '-', '-C', into], { input: await buffer(packFiles(files, contents)) });
    expect(await hashOf(into)).toBe(await hashOf(folder));
  });

  it('ends with an error when a file changes after it was hashed', async () => {
    for (const text of ['b', 'longer than before', '']) {
      const folder = makeFolder(project);
      const { files, contents } = await pack(folder);
      writeFileSync(join(folder, 'notes.txt'), text);
      await expect(buffer(packFiles(files, contents))).rejects.toThrow('"notes.txt" changed');
    }
  });
});
