import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeCalls } from './calls.mjs';

const manifest = createRequire(import.meta.url).resolve('@e2b/cli/package.json');
const program = join(dirname(manifest), 'dist/index.js');

/** Runs the command, and returns what it printed and how it ended. */
async function run(argv, input = '') {
  const child = spawn(process.execPath, [program, ...argv], { stdio: 'pipe' });
  child.stdin.on('error', () => undefined).end(input);
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit'),
  ]);
  return { stdout, stderr, code };
}

/** As `run`, for a command that must succeed. */
async function succeed(argv, input) {
  const { stdout, stderr, code } = await run(argv, input);
  if (code !== 0) throw new Error(`${argv.slice(0, 2).join(' ')} ended with ${code}: ${stderr}${stdout}`);
  return stdout;
}

/** Runs the command on a terminal, writes lines when a shell asks for one, and returns all that it shows. */
async function runOnTerminal(argv, lines) {
  const words = [process.execPath, program, ...argv].map((word) => `'${word}'`);
  // That of `script` has no size where its own input is no terminal.
  const command = `stty cols 80 rows 24; ${words.join(' ')}`;
  const child = spawn('script', ['--quiet', '--return', '--command', command, '/dev/null'], {
    stdio: 'pipe',
  });
  let shown = '';
  let answered = 0;
  const left = [...lines];
  child.stdout.setEncoding('utf8').on('data', (chunk) => {
    shown += chunk;
    const plain = shown.replaceAll(escapes, '');
    if (left.length === 0 || plain.length === answered || !/[$#] $/.test(plain)) return;
    answered = plain.length;
    child.stdin.write(`${left.shift()}\r`);
  });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`${argv.slice(0, 2).join(' ')} ended with ${code}: ${shown}`);
  return shown;
}

const escapes = new RegExp(
  `${String.fromCharCode(27)}(?:\\[[0-9;?]*[a-zA-Z]|\\][^${String.fromCharCode(7)}]*${String.fromCharCode(7)})`,
  'g',
);

/** The first id of a sandbox in a text. */
const findId = (shown) => {
  const [found] = /\bi[a-z0-9]{20}\b/.exec(shown) ?? [];
  assert.ok(found, shown);
  return found;
};

const untilGone = async (ended) => {
  for (let tries = 0; tries < 20; tries++) {
    if (!(await succeed(['sandbox', 'list'])).includes(ended)) return;
    await sleep(500);
  }
  assert.fail('the sandbox is listed still');
};

let id;
let snapshot;

await makeCalls({
  'sandbox create --detach': async () => {
    id = findId(await succeed(['sandbox', 'create', 'base', '--detach', '--timeout', '600']));
  },
  'sandbox create': async () => {
    const shown = await runOnTerminal(['sandbox', 'create', 'base'], ['echo $((40 + 2)) $HOME', 'exit']);
    assert.match(shown, /42 \/home\/user/);
    // The program asks for the end of its sandbox and does not wait for it.
    await untilGone(findId(shown));
  },
  'sandbox create --lifecycle.ontimeout pause': async () => {
    const flags = ['--detach', '--lifecycle.ontimeout', 'pause'];
    const other = findId(await succeed(['sandbox', 'create', 'base', ...flags]));
    await succeed(['sandbox', 'kill', other]);
  },
  'sandbox create --lifecycle.autoresume': async () => {
    const flags = ['--detach', '--lifecycle.ontimeout', 'pause', '--lifecycle.autoresume'];
    const other = findId(await succeed(['sandbox', 'create', 'base', ...flags]));
    await succeed(['sandbox', 'kill', other]);
  },
  'sandbox connect': async () => {
    const shown = await runOnTerminal(['sandbox', 'connect', id], ['echo $((40 + 2)) $HOME', 'exit']);
    assert.match(shown, /42 \/home\/user/);
  },
  'sandbox list': async () => {
    assert.match(await succeed(['sandbox', 'list']), new RegExp(id));
    const listed = JSON.parse(await succeed(['sandbox', 'list', '--format', 'json']));
    assert.equal(listed.filter(({ sandboxId }) => sandboxId === id).length, 1);
  },
  'sandbox info': async () => {
    const info = JSON.parse(await succeed(['sandbox', 'info', '--format', 'json', id]));
    assert.equal(info.sandboxId, id);
    assert.equal(info.state, 'running');
  },
  'sandbox exec': async () => {
    assert.equal(await succeed(['sandbox', 'exec', id, 'echo', 'inside']), 'inside\n');
    assert.equal((await run(['sandbox', 'exec', id, 'exit 3'])).code, 3);
  },
  'sandbox exec --cwd --user --env': async () => {
    const flags = ['--cwd', '/tmp', '--user', 'root', '--env', 'COLOUR=green'];
    assert.equal(
      await succeed(['sandbox', 'exec', ...flags, id, 'echo $PWD $USER $COLOUR']),
      '/tmp root green\n',
    );
  },
  'sandbox exec with input': async () => {
    assert.equal(await succeed(['sandbox', 'exec', id, 'cat'], 'through'), 'through');
  },
  'sandbox exec --background': async () => {
    await succeed(['sandbox', 'exec', '--background', id, 'sleep 600']);
    assert.match(await succeed(['sandbox', 'exec', id, 'pgrep -x sleep']), /\d/);
  },
  'sandbox metrics': async () => {
    await succeed(['sandbox', 'metrics', id]);
    await succeed(['sandbox', 'metrics', '--format', 'json', id]);
  },
  'sandbox logs': async () => {
    await succeed(['sandbox', 'logs', id]);
    await succeed(['sandbox', 'logs', '--format', 'json', id]);
  },
  'sandbox snapshot create': async () => {
    const created = await succeed(['sandbox', 'snapshot', 'create', id]);
    snapshot = /\b[a-z0-9]{20}\S*/.exec(created.replaceAll(id, ''))?.[0];
    assert.ok(snapshot, created);
  },
  'sandbox snapshot list': async () => {
    assert.match(await succeed(['sandbox', 'snapshot', 'list']), new RegExp(snapshot));
  },
  'sandbox snapshot delete': async () => {
    await succeed(['sandbox', 'snapshot', 'delete', snapshot]);
  },
  'sandbox pause': async () => {
    await succeed(['sandbox', 'pause', id]);
    const info = JSON.parse(await succeed(['sandbox', 'info', '--format', 'json', id]));
    assert.equal(info.state, 'paused');
  },
  'sandbox resume': async () => {
    await succeed(['sandbox', 'resume', id]);
    assert.match(await succeed(['sandbox', 'exec', id, 'pgrep -x sleep']), /\d/);
  },
  'sandbox kill': async () => {
    await succeed(['sandbox', 'kill', id]);
    assert.doesNotMatch(await succeed(['sandbox', 'list']), new RegExp(id));
  },
  'sandbox kill --all': async () => {
    await succeed(['sandbox', 'create', 'base', '--detach']);
    await succeed(['sandbox', 'kill', '--all']);
    assert.deepEqual(JSON.parse(await succeed(['sandbox', 'list', '--format', 'json'])), []);
  },
  'template create': async () => {
    mkdirSync('built');
    writeFileSync(
      'built/Dockerfile',
      `FROM ${process.env.IMAGE}\nUSER root\nCOPY kept.txt /kept.txt\nRUN cat /kept.txt > /made.txt\n`,
    );
    writeFileSync('built/kept.txt', 'kept');
    await succeed(['template', 'create', 'driven', '--path', 'built', '--dockerfile', 'Dockerfile']);
    const made = findId(await succeed(['sandbox', 'create', 'driven', '--detach']));
    assert.equal(await succeed(['sandbox', 'exec', made, 'cat /made.txt']), 'kept');
    await succeed(['sandbox', 'kill', made]);
  },
  'template list': async () => {
    const listed = JSON.parse(await succeed(['template', 'list', '--format', 'json']));
    assert.match(JSON.stringify(listed), /driven/);
    assert.match(await succeed(['template', 'list']), /driven/);
  },
  'template publish, unpublish': async () => {
    await succeed(['template', 'publish', '--yes', 'driven']);
    await succeed(['template', 'unpublish', '--yes', 'driven']);
  },
  'template delete': async () => {
    await succeed(['template', 'delete', '--yes', 'driven']);
    assert.doesNotMatch(await succeed(['template', 'list']), /driven/);
  },
  'auth info': async () => {
    await succeed(['auth', 'info']);
  },
});
