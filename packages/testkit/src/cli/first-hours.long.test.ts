// What a person meets in the first hours with the command line.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { Sandbox, snapshots } from '@skerry/sdk';
import { build, Template, templates } from '@skerry/sdk/template';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { skerryProgram } from '../stack/skerry-program.ts';
import { type Stack, startStack } from '../stack/stack.ts';

let stack: Stack;

beforeAll(async () => {
  stack = await startStack();
});
afterAll(() => stack.down());

/** Runs the command line on this stack to its end; the words before the flags are those of the command. */
const run = async (...argv: string[]) => {
  const { apiUrl, apiKey, domain } = stack.connection;
  const child = spawn(process.execPath, [skerryProgram, ...argv], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, SKERRY_API_URL: apiUrl, SKERRY_API_KEY: apiKey, SKERRY_DOMAIN: domain },
  });
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit') as Promise<[number | null]>,
  ]);
  return { code, stdout, stderr };
};

const skerry = async (...argv: string[]): Promise<string> => {
  const { code, stdout, stderr } = await run(...argv);
  if (code !== 0) throw new Error(`${argv.join(' ')} ended with ${code}\n${stderr}`);
  return stdout.trim();
};

const lengthMs = async (id: string): Promise<number> => {
  const { startedAt, endAt } = await Sandbox.getInfo(id, stack.connection);
  return +endAt - +startedAt;
};

describe('the time to live of a sandbox', () => {
  it('is kept by a resume, whatever command resumes, and another is set by --timeout', async () => {
    const id = await skerry('create', '--timeout', '1h');
    await skerry('sandbox', 'pause', id);
    await skerry('sandbox', 'resume', id);
    expect(await lengthMs(id)).toBe(3_600_000);
    await skerry('sandbox', 'pause', id);
    expect(await skerry('exec', id, '--', 'echo', 'here')).toBe('here');
    expect(await lengthMs(id)).toBe(3_600_000);
    await skerry('sandbox', 'pause', id);
    await skerry('sandbox', 'resume', '--timeout', '2h', id);
    expect(await lengthMs(id)).toBe(7_200_000);
    await skerry('rm', id);
  });

  it('ends with a pause, and with --on-end kill for good', async () => {
    const [paused, killed] = await Promise.all([
      skerry('create', '--timeout', '1s'),
      skerry('create', '--timeout', '1s', '--on-end', 'kill'),
    ]);
    const states = async () => (await skerry('ls')).split('\n').filter((line) => line.includes(paused));
    await expect.poll(states, { timeout: 20_000 }).toEqual([expect.stringMatching(/ paused /)]);
    await expect.poll(() => skerry('ls', '-q'), { timeout: 20_000 }).not.toContain(killed);
    expect(await skerry('sandbox', 'info', paused)).toContain('never while paused');
    const { code, stderr } = await run('exec', killed, '--', 'true');
    expect([code, stderr]).toEqual([
      125,
      expect.stringMatching(
        /ended (\d+ s ago|just now): its time to live of 1 s was over\n {2}"skerry sandbox list"/,
      ),
    ]);
    await skerry('rm', paused);
    expect((await run('rm', paused)).stderr).toMatch(/^skerry: sandbox "i\w+" was killed \d+ s ago\n$/);
  });

  it('names the option whose value is too large', async () => {
    const late = ['--timeout', '2d'];
    for (const argv of [
      ['create', ...late],
      ['sandbox', 'fork', ...late, 'i1'],
      ['run', ...late, '--', 'true'],
    ]) {
      const { stderr } = await run(...argv);
      expect(stderr, argv.join(' ')).toMatch(/option '--timeout <time>' argument '2d'.*24h at most/);
    }
  });

  it('is five minutes for a copy that is forked without one', async () => {
    await using source = await Sandbox.create(stack.connection);
    const [copy] = await source.fork();
    if (!(copy instanceof Sandbox)) throw copy;
    expect(await lengthMs(copy.sandboxId)).toBe(300_000);
    await copy.kill();
  });
});

describe('names', () => {
  it('of a template may be misspelt once, and a hint is about the kind that was asked for', async () => {
    const { code, stderr } = await run('create', 'bsae');
    expect([code, stderr]).toEqual([1, 'skerry: there is no template "bsae": did you mean "base"?\n']);
    expect((await run('run', 'pyton', '--', 'true')).stderr).toContain('did you mean "python"?');
    expect((await run('create', 'something-else')).stderr).toMatch(
      /was not found\n {2}"skerry template list"/,
    );
    expect((await run('snapshot', 'verify', 'none')).stderr).toContain('"skerry snapshot list"');
    expect((await run('sandbox', 'info', 'none')).stderr).toContain('"skerry sandbox list"');
  });

  it('of a sandbox are the beginning of its id, where that is unique', async () => {
    await using one = await Sandbox.create(stack.connection);
    await using other = await Sandbox.create(stack.connection);
    const short = one.sandboxId.slice(0, 8);
    expect(await skerry('exec', short, '--', 'echo', 'found')).toBe('found');
    expect(JSON.parse(await skerry('sandbox', 'info', '--json', short))).toMatchObject({
      sandboxId: one.sandboxId,
    });
    await skerry('rm', other.sandboxId.slice(0, 10));
    expect((await run('rm', 'i')).stderr).toContain('sandbox "i" was not found');
    expect((await one.getInfo()).state).toBe('running');
  });

  it('of templates and snapshots are the beginning of their id too, with and without a tag', async () => {
    const built = build(Template().fromTemplate('base'), 'short', stack.connection);
    const { templateId } = await built.result();
    const short = templateId.slice(0, 8);
    expect(JSON.parse(await skerry('template', 'show', '--json', short))).toMatchObject({ templateId });
    expect(await skerry('template', 'logs', short)).toBe(await skerry('template', 'logs', templateId));
    await skerry('template', 'tag', short, 'live');
    expect(await skerry('template', 'tag', short)).toMatch(/^live {2}/m);
    expect(await skerry('run', `${short}:live`, '--', 'echo', 'tagged')).toBe('tagged');
    const id = await skerry('create', short);
    expect((await Sandbox.getInfo(id, stack.connection)).templateId).toBe(templateId);
    const snapshotId = await skerry('snapshot', 'create', '--no-memory', id.slice(0, 8));
    const part = snapshotId.slice(0, 8);
    expect(await skerry('run', part, '--', 'echo', 'captured')).toBe('captured');
    expect(await skerry('snapshot', 'verify', part)).toBe(`ok  ${snapshotId}`);
    expect(await skerry('snapshot', 'log', part)).toContain(snapshotId);
    expect(await skerry('snapshot', 'list', '-q', '--name', part)).toBe(snapshotId);
    expect(await skerry('snapshot', 'list', '-q', '--sandbox', id.slice(0, 8))).toBe(snapshotId);
    expect(await skerry('snapshot', 'diff', part, id.slice(0, 8))).toBe('');
    await skerry('snapshot', 'delete', part);
    expect((await run('snapshot', 'verify', snapshotId)).code).toBe(1);
    await skerry('rm', id);
    await skerry('template', 'delete', short);
    expect(await templates.exists('short', stack.connection)).toBe(false);
  }, 120_000);

  it('of several are refused with all of them, before anything is done', async () => {
    await using sandbox = await Sandbox.create(stack.connection);
    const ids: string[] = [];
    for (const name of ['twice:v1', 'twice:v2'])
      ids.push((await sandbox.createSnapshot({ name, memory: false })).snapshotId);
    for (const words of [
      ['create', 'local/twi'],
      ['run', 'local/twi', '--', 'true'],
      ['snapshot', 'delete', ids[0] ?? '', 'local/twi'],
      ['snapshot', 'diff', 'local/twi', sandbox.sandboxId],
    ]) {
      const { stderr } = await run(...words);
      expect(stderr, words.join(' ')).toContain('local/twi is the beginning of 2 ids: ');
      for (const id of ids) expect(stderr).toContain(id);
    }
    // A whole name is no beginning, whatever tags it has.
    await skerry('snapshot', 'delete', 'twice:v1');
    expect(await skerry('snapshot', 'list', '-q')).toBe(ids[1]);
    await skerry('snapshot', 'delete', 'local/twi');
  });

  it('of a template come before the command of run, or after --template', async () => {
    expect(await skerry('run', 'base', '--', 'echo', '--', 'a b')).toBe('-- a b');
    expect(await skerry('run', '--template', 'base', '--', 'echo', 'c')).toBe('c');
    expect(await skerry('run', '--', 'echo', 'd')).toBe('d');
    const { code, stderr } = await run('run', 'echo', 'x');
    expect([code, stderr]).toEqual([125, 'skerry: the command comes after --: skerry run -- echo x\n']);
  });

  it('of a ready-made template build it at its first use, with progress and the reason of a failure', async () => {
    // No sandbox of this server reaches the packages that the template installs.
    const { code, stdout, stderr } = await run('create', 'python');
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(
      /^\[0 s\] building the ready-made template python, once\n[\s\S]*step 2: RUN apt-get/,
    );
    expect(stderr).toMatch(/\nskerry: line \d+ of the Dockerfile: .*\n$/);
  }, 120_000);

  it('of sandboxes, templates and snapshots are completed at Tab', async () => {
    await using sandbox = await Sandbox.create(stack.connection);
    const { snapshotId } = await sandbox.createSnapshot({ name: 'tabbed', memory: false });
    const complete = (...words: string[]) => skerry('complete', '--', ...words);
    for (const verb of [['exec'], ['sandbox', 'pause'], ['snapshot', 'create']])
      expect(await complete(...verb, 'i')).toContain(`${sandbox.sandboxId}\tbase, running`);
    expect(await complete('create', 'py')).toMatch(/^python\t(ready-made )?template\n/);
    expect(await complete('snapshot', 'verify', 'local')).toContain(snapshotId);
    await snapshots.delete(snapshotId, stack.connection);
  });

  it('of commands of other programs are answered with those of this one', async () => {
    for (const [argv, hint] of [
      [['ps', '-a'], /"skerry ls"/],
      [['stop', 'i1'], /"skerry sandbox pause ID" .* "skerry rm ID"/],
      [['sandbox', 'ps'], /"skerry ls"/],
      [['pause', 'i1'], /"skerry sandbox pause"/],
    ] as const) {
      const { code, stderr } = await run(...argv);
      expect([code, stderr]).toEqual([1, expect.stringMatching(hint)]);
    }
    expect((await run('--help')).stdout).not.toMatch(/^ {2}(ps|stop)\b/m);
  });
});

describe('skerry env and status', () => {
  it('set the variables for a shell, and count the sandboxes of the server', async () => {
    await using _ = await Sandbox.create(stack.connection);
    const data = ['--data', stack.dataDir];
    const lines = (await skerry('env', '--context', '', ...data)).split('\n');
    expect(lines).toEqual([
      `export SKERRY_API_URL=${stack.connection.apiUrl}`,
      `export SKERRY_API_KEY=${stack.connection.apiKey}`,
      `export SKERRY_DOMAIN=${stack.connection.domain}`,
    ]);
    expect(await skerry('env', '--e2b', ...data)).toContain('\nexport E2B_API_KEY=');
    expect(await skerry('status')).toMatch(
      /^skerry answers at http[\s\S]*sandboxes {2}[1-9]\d* running, \d+ paused/,
    );
    expect(JSON.parse(await skerry('status', '--json'))).toMatchObject({ apiUrl: stack.connection.apiUrl });
  });
});

describe('what programs print', () => {
  it('is in the logs of a sandbox for commands in the background, and not for those that a client reads', async () => {
    await using sandbox = await Sandbox.create(stack.connection);
    const { sandboxId: id } = sandbox;
    await skerry('exec', id, '--', 'echo foreground');
    const pid = await skerry(
      'exec',
      '-d',
      id,
      '--',
      'echo started; echo wrong >&2; sleep 0.3; printf last; sleep 60',
    );
    await sandbox.commands.run('echo from the library', { background: true });
    const logs = () => skerry('logs', id);
    await expect.poll(logs).toMatch(/started/);
    await expect.poll(logs).toMatch(/from the library/);
    await skerry('exec', id, '--', 'kill', pid);
    await expect.poll(logs).toMatch(/last/);
    const printed = (await logs()).split('\n').toSorted();
    expect(printed).toEqual(['from the library', 'last', 'started', 'wrong']);
    expect(await skerry('logs', '-t', '--search', 'wrong', id)).toMatch(
      new RegExp(`^\\d{4}-\\S+Z {2}${pid} {2}wrong$`),
    );
  });

  it('goes to the logs from when the last client has gone', async () => {
    const { agent, sandboxId } = await stack.createSandbox();
    const leaving = new AbortController();
    const process = { cmd: 'sh', args: ['-c', 'echo read; sleep 1; echo unread; sleep 60'] };
    for await (const { event } of agent.process.start({ process }, { signal: leaving.signal }))
      if (event?.event.case === 'data') break;
    leaving.abort();
    await expect.poll(() => skerry('logs', sandboxId)).toBe('unread');
  });

  it('is bounded, and events of the sandbox stay beside a flood', async () => {
    await using sandbox = await Sandbox.create(stack.connection);
    const { sandboxId: id } = sandbox;
    await skerry('exec', '-d', id, '--', 'yes flood | head -c 20M; sleep 2; echo done; sleep 60');
    await expect
      .poll(() => skerry('logs', id), { timeout: 30_000 })
      .toMatch(/bytes of output were dropped[\s\S]*done/);
    expect((await skerry('logs', id)).length).toBeLessThan(300_000);
    const events = await skerry('sandbox', 'events', id);
    expect(events).toContain('sandbox started');
    expect(events).toContain('process started');
    expect(events).not.toContain('flood\n');
  });

  it('are no events, and commands that skerry runs itself are left out of those', async () => {
    await using sandbox = await Sandbox.create(stack.connection);
    const { sandboxId: id } = sandbox;
    const child = spawn(process.execPath, [
      skerryProgram,
      'exec',
      '--data',
      stack.dataDir,
      id,
      '--',
      'echo up; sleep 60',
    ]);
    await once(child.stdout, 'data');
    child.kill('SIGINT');
    await once(child, 'exit');
    await expect.poll(() => skerry('sandbox', 'events', '--all', id)).toContain('kill -INT');
    const events = await skerry('sandbox', 'events', id);
    expect(events).toMatch(/process started .*echo up/);
    expect(events).not.toContain('kill -INT');
  });
});

describe('an error', () => {
  it('says that there is no such user', async () => {
    await using sandbox = await Sandbox.create(stack.connection);
    for (const argv of [
      ['exec', '-u', 'nobody2', sandbox.sandboxId, '--', 'true'],
      ['run', '-u', 'nobody2', '--', 'true'],
      ['exec', '-d', '-u', 'nobody2', sandbox.sandboxId, '--', 'true'],
    ])
      expect(await run(...argv)).toMatchObject({
        code: 125,
        stderr: 'skerry: the sandbox has no user "nobody2"\n',
      });
  });

  it('of a command has the last line of its stderr', async () => {
    await using sandbox = await Sandbox.create(stack.connection);
    const failed = sandbox.commands.run('echo one >&2; echo "two words" >&2; exit 3');
    await expect(failed).rejects.toThrow(/^the command ended with exit status 3: two words$/);
  });

  it('of a command whose sandbox ends meanwhile says why', async () => {
    await using sandbox = await Sandbox.create(stack.connection);
    const failed = run('exec', sandbox.sandboxId, '--', 'sleep', '60');
    await expect.poll(() => sandbox.commands.list().then((all) => all.length)).toBe(1);
    await sandbox.setTimeout(0);
    const { code, stderr } = await failed;
    expect([code, stderr]).toEqual([125, expect.stringMatching(/its time to live of \d+ s was over/)]);
  });
});

it('shows metrics as one table, and goes on until the sandbox has ended with --watch', async () => {
  const sandbox = await Sandbox.create(stack.connection);
  const table =
    /^TIME +CPU +MEMORY +DISK\n(\S+Z {2}[\d.]+ % of \d+ +\d+ of \d+ MiB +\d+ of \d+ MiB(\n|$)){2,}$/;
  const watched = skerry('sandbox', 'metrics', '--watch', sandbox.sandboxId);
  await expect
    .poll(() => skerry('sandbox', 'metrics', sandbox.sandboxId), { timeout: 60_000 })
    .toMatch(table);
  await sandbox.kill();
  expect(await watched).toMatch(table);
});
