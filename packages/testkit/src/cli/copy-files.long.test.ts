import { once } from 'node:events';
import {
  chmod,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rm,
  stat,
  symlink,
  truncate,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { joinStack, type SharedStack } from '../stack/shared-stack.ts';
import { createTemplateBuilds } from '../templates/template-builds.ts';
import { runSkerry, startSkerry } from './run-skerry.ts';

let stack: SharedStack;

beforeAll(async () => {
  stack = await joinStack();
});
afterAll(() => stack.leave());

/** The arguments of `skerry sandbox VERB` on this stack. */
const sandbox = (verb: string, ...rest: string[]): string[] => [
  'sandbox',
  verb,
  '--data',
  stack.dataDir,
  ...rest,
];

const newFolder = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'skerry-cli-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
};

/** The paths that a process has open. */
const readOpenFiles = async (pid: number): Promise<string[]> => {
  const folder = `/proc/${pid}/fd`;
  const links = (await readdir(folder)).map((name) => readlink(join(folder, name)).catch(() => ''));
  return Promise.all(links);
};

describe('skerry sandbox cp', () => {
  it('copies a folder in and out with modes, links and odd names, into what exists', async () => {
    const { sandboxId: id } = await stack.createSandbox();
    const here = await newFolder();
    const project = join(here, 'project');
    await mkdir(join(project, 'sub dir'), { recursive: true });
    await writeFile(join(project, 'sub dir', 'ü\n.txt'), 'text');
    await writeFile(join(project, 'run.sh'), '#!/bin/sh\necho ran\n');
    await chmod(join(project, 'run.sh'), 0o755);
    await symlink('run.sh', join(project, 'link'));
    await writeFile(join(project, 'large'), Buffer.alloc(5 << 20, 1));
    expect(await runSkerry(sandbox('cp', project, `${id}:`))).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(
      (await runSkerry(sandbox('exec', id, '--', './project/link; stat -c %U project/large'))).stdout,
    ).toBe('ran\nuser\n');
    expect(await runSkerry(sandbox('cp', `${id}:project`, join(here, 'back')))).toMatchObject({ code: 0 });
    expect(await readFile(join(here, 'back', 'sub dir', 'ü\n.txt'), 'utf8')).toBe('text');
    expect(await readlink(join(here, 'back', 'link'))).toBe('run.sh');
    expect((await stat(join(here, 'back', 'run.sh'))).mode & 0o777).toBe(0o755);
    expect((await stat(join(here, 'back', 'large'))).size).toBe(5 << 20);
    expect((await runSkerry(sandbox('exec', id, '--', 'ls -A /tmp'))).stdout).not.toContain('skerry-copy');
  });

  it('takes relative paths from the home of the user, wherever commands begin', async () => {
    const { build } = createTemplateBuilds(() => stack);
    const steps = ['USER worker', 'WORKDIR /srv/app'].map((line) => {
      const [type, ...args] = line.split(' ');
      return { type, args };
    });
    expect((await build('elsewhere', { fromTemplate: 'base', steps })).reason).toBeUndefined();
    const { sandboxId: id } = await stack.createSandbox({ templateID: 'elsewhere' });
    const here = await newFolder();
    await mkdir(join(here, 'project'));
    await writeFile(join(here, 'project/run'), 'text', { mode: 0o755 });
    const copies = [
      [join(here, 'project'), `${id}:`],
      [join(here, 'project/run'), `${id}:project/again`],
      [`${id}:project`, join(here, 'back')],
    ] as const;
    for (const [from, to] of copies)
      expect(await runSkerry(sandbox('cp', from, to))).toEqual({ code: 0, stdout: '', stderr: '' });
    const { stdout } = await runSkerry(
      sandbox('exec', id, '--', 'pwd; ls -A; cd; stat -c "%n %U %a" project/*'),
    );
    expect(stdout).toBe('/srv/app\nproject/again worker 755\nproject/run worker 755\n');
    expect(await readdir(join(here, 'back'))).toEqual(['again', 'run']);
  });

  it('copies one file under another name and into a folder, and says which file is missing', async () => {
    const { sandboxId: id } = await stack.createSandbox();
    const here = await newFolder();
    await writeFile(join(here, 'a:b'), '\u0000binary');
    expect(await runSkerry(sandbox('cp', join(here, 'a:b'), `${id}:/home/user/c`))).toMatchObject({
      code: 0,
    });
    const out = [`${id}:/home/user/c`, here] as const;
    const copied = await runSkerry(sandbox('cp', '--json', ...out));
    expect(JSON.parse(copied.stdout)).toEqual({
      sandboxId: id,
      source: out[0],
      destination: here,
      bytes: '\u0000binary'.length,
      leftOut: 0,
    });
    expect(await readFile(join(here, 'c'), 'utf8')).toBe('\u0000binary');
    const missing = await runSkerry(sandbox('cp', `${id}:/none`, here));
    expect(missing).toMatchObject({ code: 1, stderr: expect.stringMatching(/^skerry: .*\/none.*\n$/) });
    const neither = await runSkerry(sandbox('cp', 'a', 'b'));
    expect(neither.stderr).toBe(
      'skerry: one of the two is ID:PATH in a sandbox, the other a path on this machine\n',
    );
  });

  it('leaves out what leads out of a folder with a word, and takes over no set-user-id bit', async () => {
    const { sandboxId: id } = await stack.createSandbox();
    const here = await newFolder();
    const script =
      'mkdir p && cd p && ln -s /etc/passwd absolute && ln -s kept link && mkfifo pipe && cp /bin/true kept && chmod 6755 kept';
    await runSkerry(sandbox('exec', id, '--', script));
    expect(await runSkerry(sandbox('cp', `${id}:p`, here))).toMatchObject({
      code: 0,
      stderr: expect.stringContaining(
        'skerry: absolute is left out: a link to /etc/passwd, which is outside of the folder\n',
      ),
    });
    expect((await readdir(join(here, 'p'))).toSorted()).toEqual(['kept', 'link']);
    expect((await stat(join(here, 'p', 'kept'))).mode & 0o7777).toBe(0o755);
    const again = await runSkerry(sandbox('cp', '--json', `${id}:p`, here));
    expect([again.code, (JSON.parse(again.stdout) as { leftOut: number }).leftOut]).toEqual([0, 2]);
  });

  it('refuses a place without rights before anything is sent, and a file that is too large', async () => {
    const { sandboxId: id } = await stack.createSandbox();
    const here = await newFolder();
    await writeFile(join(here, 'file'), Buffer.alloc(2 << 20));
    await mkdir(join(here, 'folder'));
    const refusal = {
      code: 1,
      stderr: 'skerry: in the sandbox: no right to write to /etc: --user root has it\n',
    };
    for (const name of ['file', 'folder'])
      expect(await runSkerry(sandbox('cp', join(here, name), `${id}:/etc/`))).toMatchObject(refusal);
    expect(await runSkerry(sandbox('cp', join(here, 'file'), `${id}:/etc/none/file`))).toMatchObject(refusal);
    expect(await runSkerry(sandbox('cp', '-u', 'root', join(here, 'file'), `${id}:/etc/`))).toMatchObject({
      code: 0,
    });
    const listed = await runSkerry(
      sandbox('exec', id, '--', 'ls -d /etc/file /etc/folder /etc/none 2>/dev/null'),
    );
    expect(listed.stdout).toBe('/etc/file\n');
    expect(
      await runSkerry(sandbox('cp', '--max-size', '1', `${id}:/etc/file`, join(here, 'back'))),
    ).toMatchObject({
      code: 1,
      stderr: 'skerry: /etc/file has more than --max-size, which is 1 MiB\n',
    });
    expect((await readdir(here)).toSorted()).toEqual(['file', 'folder']);
  });

  it('leaves nothing on either side when it is interrupted, and ends with 130 and one line', async () => {
    const { sandboxId: id } = await stack.createSandbox();
    const here = await newFolder();
    await mkdir(join(here, 'folder'));
    await writeFile(join(here, 'folder', 'large'), '');
    await truncate(join(here, 'folder', 'large'), 2 ** 30);
    const prepare = 'echo kept > existing && mkdir there && truncate -s 512M there/large';
    await runSkerry(sandbox('exec', id, '--', prepare));
    const large = join(here, 'folder', 'large');
    const listing = sandbox('exec', id, '--', 'ls -A; ls -A /tmp; cat existing');
    const before = (await runSkerry(listing)).stdout;
    for (const [from, to] of [
      [large, `${id}:new`],
      [large, `${id}:existing`],
      [join(here, 'folder'), `${id}:copied`],
      [`${id}:there/large`, join(here, 'back')],
      [`${id}:there`, join(here, 'back')],
    ] as const) {
      const child = startSkerry(sandbox('cp', from, to));
      const complained = text(child.stderr);
      // What a copy has open shows that it is under way.
      const isUnderWay = async (): Promise<boolean> => {
        const names = await readdir(here);
        const open = await readOpenFiles(child.pid ?? 0);
        return names.some((name) => name.startsWith('.skerry-')) || open.includes(large);
      };
      await expect.poll(isUnderWay, { interval: 20, timeout: 30_000 }).toBe(true);
      child.kill('SIGINT');
      expect(await once(child, 'exit')).toEqual([130, null]);
      expect(await complained).toBe('skerry: interrupted\n');
      expect(await readdir(here)).toEqual(['folder']);
      // The agent removes a new file when it has noticed that its body broke off.
      await expect.poll(async () => (await runSkerry(listing)).stdout, { timeout: 10_000 }).toBe(before);
    }
  });

  it('writes nothing outside of the destination, whatever the archive of the sandbox says', async () => {
    const { sandboxId: id } = await stack.createSandbox();
    const here = await newFolder();
    // A tar of the sandbox that answers with a link out of the folder, and a file through it.
    const hostile = `mkdir -p evil/x ~/bin && ln -s ${here} evil/x/out && cat > /usr/local/bin/tar <<'END'
#!/usr/bin/python3
import io, sys, tarfile
with tarfile.open(sys.argv[2], 'w') as archive:
    link = tarfile.TarInfo('out'); link.type = tarfile.SYMTYPE; link.linkname = '${here}'
    archive.addfile(link)
    for name in ('out/through', '../above', '${here}/absolute'):
        entry = tarfile.TarInfo(name); entry.size = 4
        archive.addfile(entry, io.BytesIO(b'evil'))
END
chmod +x /usr/local/bin/tar`;
    expect(
      await runSkerry(sandbox('exec', '-u', 'root', '-C', '/home/user', id, '--', hostile)),
    ).toMatchObject({
      code: 0,
    });
    const into = join(here, 'into');
    await runSkerry(sandbox('cp', `${id}:/home/user/evil`, into));
    for (const name of ['through', 'above', 'absolute'])
      await expect(stat(join(here, name))).rejects.toMatchObject({ code: 'ENOENT' });
  });
});
