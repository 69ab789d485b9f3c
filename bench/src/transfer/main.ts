// Transfers of a file, on the machine of a network lab on which this program is started: node main.ts WAY ENDPOINT SOURCE. For each
// line of its input it does one, and writes its speed in MiB/s.
import { createInterface } from 'node:readline';
import { download, type Endpoint, mibPerSecond, upload } from './transfers.ts';

const [way, given = '', source = ''] = process.argv.slice(2);
const endpoint = JSON.parse(given) as Endpoint;
const transfer = way === 'upload' ? upload : download;
for await (const _ of createInterface({ input: process.stdin }))
  console.log(await mibPerSecond(() => transfer(endpoint, source)));
