// Run by probe-peer.driver.test.ts in a network namespace of its own, which stands for the host; the real one is not
// changed. Prints its results as one JSON line.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';
import { runCommand } from '../../kernel/run-command.ts';
import type { ProbePeer } from '../probe-peer.ts';

const module = JSON.stringify(new URL('../probe-peer.ts', import.meta.url).href);
const opener = `import { openProbePeer } from ${module};
console.log(JSON.stringify(await Promise.all([openProbePeer(0), openProbePeer(16_383)])));`;
const findLinks = async (): Promise<string[]> =>
  (await runCommand({ file: 'ip', args: ['-o', 'link'] })).match(/\bskprobe\d+/g) ?? [];

const child = spawn(process.execPath, ['--input-type=module-typescript', '-e', opener], {
  stdio: ['ignore', 'pipe', 'inherit'],
});
const [line] = (await once(child.stdout, 'data')) as [Buffer];
const ends = JSON.parse(line.toString()) as ProbePeer[];
const answers = await Promise.all(ends.map(({ address: host, port }) => text(connect({ host, port }))));
const links = await findLinks();
child.kill('SIGKILL');
for (let tries = 0; tries < 200 && (await findLinks()).length > 0; tries++) await setTimeout(50);
console.log(JSON.stringify({ answers, links, linksLeft: await findLinks() }));
