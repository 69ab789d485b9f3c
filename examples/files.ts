// Moves many files at once: packs a folder inside, downloads the archive, and uploads it into another sandbox.
import { Sandbox } from '@skerry/sdk';

await using first = await Sandbox.create({ timeoutMs: 300_000 });
await first.commands.run('mkdir -p data && for n in $(seq 1 1000); do echo $n > data/$n.txt; done');
await first.commands.run('tar -czf data.tar.gz data');

await using second = await Sandbox.create({ timeoutMs: 300_000 });
await second.files.write('data.tar.gz', await first.files.read('data.tar.gz', { format: 'stream' }));
const { stdout } = await second.commands.run('tar -xzf data.tar.gz && ls data | wc -l && cat data/1000.txt');
console.log(stdout.trim());
