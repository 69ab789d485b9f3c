// Tries several ways from one state: each copy has the files and the processes of the source, and changes only its own.
import { Sandbox } from '@skerry/sdk';

await using source = await Sandbox.create({ timeoutMs: 300_000 });
await source.files.write('numbers.txt', '3\n1\n2\n');

const ways = ['sort numbers.txt', 'sort -r numbers.txt', 'wc -l < numbers.txt'];
const copies = await source.fork({ count: ways.length, timeoutMs: 60_000 });
const results = await Promise.all(
  copies.map(async (copy, at) => {
    if (copy instanceof Error) throw copy;
    const { stdout } = await copy.commands.run(`${ways[at]} | tee result.txt`);
    await copy.kill();
    return `${ways[at]}: ${stdout.trim().split('\n').join(' ')}`;
  }),
);
for (const result of results) console.log(result);
console.log('the source has a result:', await source.files.exists('result.txt'));
