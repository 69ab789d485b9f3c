// Run by far-end.driver.test.ts in a network namespace of its own, which plays the host; nothing here touches the real one.
// Prints what happened as one JSON line.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';
import { runCommand } from '../../kernel/run-command.ts';
import type { FarEnd } from '../far-end.ts';

const module = JSON.stringify(new URL('../far-end.ts', import.meta.url).href);
const opener = `import { openFarEnd } from ${module};
console.log(JSON.stringify(await Promise.all([openFarEnd(0), openFarEnd(16_383)])));`;
const findLinks = async (): Promise<string[]> =>
  (await runCommand({ file: 'ip', args: ['-o', 'link'] })).match(/\bskprobe\d+/g) ?? [];

const child = spawn(process.execPath, ['--input-type=module-typescript', '-e', opener], {
  stdio: ['ignore', 'pipe', 'inherit'],
});
const [line] = (await once(child.stdout, 'data')) as [Buffer];
const ends = JSON.parse(line.toString()) as FarEnd[];
const answers = await Promise.all(ends.map(({ address: host, port }) => text(connect({ host, port }))));
const links = await findLinks();
child.kill('SIGKILL');
for (let tries = 0; tries < 200 && (await findLinks()).length > 0; tries++) await setTimeout(50);
console.log(JSON.stringify({ answers, links, linksLeft: await findLinks() }));
