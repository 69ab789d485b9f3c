// A program of the kill test: exports a paused sandbox again and again, until this process is killed.
import { rm } from 'node:fs/promises';
import { createOci } from '../oci.ts';

const [dataDir = '', agentDir = '', id = '', path = ''] = process.argv.slice(2);
const instance = await createOci({ dataDir, agentDir }).get(id);
process.stdout.write('made\n');
for (;;) {
  await instance.exportImage({ path });
  await rm(path);
}
