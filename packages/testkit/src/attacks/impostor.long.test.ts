import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Sandbox } from '@skerry/sdk';
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest';
import { runSkerry } from '../cli/run-skerry.ts';
import { type Stack, startStack } from '../stack/stack.ts';
import { atEachLevelAlone } from './attack.ts';
import { type ForgedAnswer, forgeEntry, impersonateAgent } from './impostor.ts';

atEachLevelAlone(({ level, attack }) => {
  let stack: Stack;
  beforeAll(async () => {
    // What an impostor answers is not what the document declares.
    stack = await startStack({ args: ['--isolation', level], checksAnswers: false });
  });
  afterAll(() => stack.down());

  const openHostile = async (...answers: ForgedAnswer[]): Promise<Sandbox> => {
    const sandbox = await Sandbox.create({ ...stack.connection, timeoutMs: 120_000 });
    await impersonateAgent(sandbox, answers);
    return sandbox;
  };

  /** A folder in which an operator works. */
  const makeHome = (): string => {
    const home = mkdtempSync(join(tmpdir(), 'skerry-home-'));
    onTestFinished(() => rmSync(home, { recursive: true }));
    return home;
  };

  /** Runs `skerry sandbox VERB` in the folder. */
  const runSandbox = (home: string, [verb = '', ...words]: readonly string[]) =>
    runSkerry(['sandbox', verb, '--data', stack.dataDir, ...words], { cwd: home });

  attack(
    'naming the files that a copy out of a sandbox writes, as what answers in place of the agent',
    'names and places come from the command alone, and set-user-id bits are dropped',
    async () => {
      const paths = ['/home/user/.bashrc', '/home/user/..'];
      for (const path of paths) {
        const hostile = await openHostile(forgeEntry(path), { to: 'GET /files?', body: 'evil' });
        const home = makeHome();
        writeFileSync(join(home, '.bashrc'), 'mine');
        const copied = await runSandbox(home, ['cp', `${hostile.sandboxId}:report.txt`, '.']);
        expect(copied).toEqual({ code: 0, stdout: '', stderr: '' });
        expect(readdirSync(home).toSorted()).toEqual(['.bashrc', 'report.txt']);
        expect(readFileSync(join(home, '.bashrc'), 'utf8')).toBe('mine');
        expect(statSync(join(home, 'report.txt')).mode & 0o7777).toBe(0o755);
        expect(await runSandbox(home, ['cp', `${hostile.sandboxId}:..`, '.'])).toMatchObject({
          code: 1,
          stderr: 'skerry: ".." has no name for a copy in a folder: end the destination with one\n',
        });
      }
    },
  );

  attack(
    'answering a copy of a folder with what is no archive of it',
    'the copy is refused and leaves nothing',
    async () => {
      const hostile = await openHostile(forgeEntry('/home/user', 'DIRECTORY'), {
        to: 'GET /files?',
        body: 'evil'.repeat(1000),
      });
      const home = makeHome();
      const copied = await runSandbox(home, ['cp', `${hostile.sandboxId}:project`, '.']);
      expect(copied).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/^skerry: the archive of the sandbox is refused: .*\n$/),
      });
      expect(readdirSync(home)).toEqual([]);
    },
  );

  attack(
    'taking the token, the files or an answer of an internal service of a client by a redirect',
    'no client follows a redirect',
    async () => {
      const calls: string[] = [];
      const internal = createServer((request, response) => {
        calls.push(`${request.method} ${request.url}`);
        response.end('secret');
      });
      internal.listen(0, '127.0.0.1');
      await once(internal, 'listening');
      onTestFinished(() => void internal.close());
      const location = `http://127.0.0.1:${(internal.address() as AddressInfo).port}/latest/credentials`;
      const redirects = ['GET /files', 'POST /files', 'POST /filesystem.', 'POST /process.'].map((to) => ({
        to,
        status: 307,
        headers: { location },
      }));
      const hostile = await openHostile(...redirects);
      const refusal = { message: `the answer is a redirect to ${location}, which is not followed` };
      await expect(hostile.files.read('a')).rejects.toMatchObject(refusal);
      await expect(hostile.files.write('a', 'mine')).rejects.toMatchObject(refusal);
      await expect(hostile.files.list('.')).rejects.toMatchObject(refusal);
      await expect(hostile.commands.run('true')).rejects.toMatchObject(refusal);
      const home = makeHome();
      writeFileSync(join(home, 'mine'), 'mine');
      const id = hostile.sandboxId;
      for (const argv of [
        ['cp', `${id}:a`, 'b'],
        ['cp', 'mine', `${id}:a`],
        ['exec', id, '--', 'true'],
      ])
        expect((await runSandbox(home, argv)).stderr).toBe(`skerry: ${refusal.message}\n`);
      expect(readdirSync(home)).toEqual(['mine']);
      expect(calls).toEqual([]);
    },
  );

  attack(
    'sending control sequences to the terminal of an operator, in an error of what answers in place of the agent',
    'one place writes to a terminal, and writes out every control and invisible character',
    async () => {
      const message =
        'no \u001b]0;owned\u0007\u001b[2J\u009b2J\u202egnp.exe\u2028file\r\nskerry: all is well';
      const error = (to: string, code: string | number): ForgedAnswer => ({
        to,
        status: 404,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ code, message }),
      });
      const hostile = await openHostile(
        error('POST /filesystem.', 'not_found'),
        error('POST /process.', 404),
      );
      const home = makeHome();
      for (const argv of [
        ['cp', `${hostile.sandboxId}:a`, 'b'],
        ['exec', hostile.sandboxId, '--', 'true'],
      ]) {
        const { stderr } = await runSandbox(home, argv);
        expect(stderr).toContain('no \\x1b]0;owned\\x07\\x1b[2J\\x9b2J\\u202egnp.exe\\u2028file');
        expect(stderr).toMatch(/^skerry: [\x20-\x7e]*\n( {2}[\x20-\x7e]*\n)?$/);
      }
    },
  );

  attack(
    'filling the memory or the disk of a client with a file, an answer or an error without end',
    'limits for files that the client sets, and for all else',
    async () => {
      const body = 'x'.repeat(65_536);
      const hostile = await openHostile(
        forgeEntry('/home/user/a'),
        { to: 'GET /files?path=error', status: 500, body, endless: true },
        { to: 'GET /files?', body, endless: true },
        {
          to: 'POST /filesystem.Filesystem/ListDir',
          headers: { 'content-type': 'application/json' },
          body,
          endless: true,
        },
      );
      await expect(hostile.files.read('a', { maxBytes: 1_000_000 })).rejects.toMatchObject({
        code: 'too_large',
      });
      await expect(hostile.files.read('error')).rejects.toMatchObject({ message: 'x'.repeat(200) });
      await expect(hostile.files.list('.')).rejects.toMatchObject({ code: 'resource_exhausted' });
      const home = makeHome();
      const copied = await runSandbox(home, ['cp', '--max-size', '1', `${hostile.sandboxId}:a`, 'b']);
      expect(copied).toMatchObject({
        code: 1,
        stderr: 'skerry: a has more than --max-size, which is 1 MiB\n',
      });
      expect(readdirSync(home)).toEqual([]);
    },
  );
});
