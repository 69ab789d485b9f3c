// A node with the OCI driver, for tests that need one in another namespace: node-process.ts JSON. Prints its port when it serves,
// and ends when stdin does.
import { once } from 'node:events';
import { join } from 'node:path';
import { toSnapshotSocket } from '../../blob-copies/snapshot-socket.ts';
import { type HelperOptions, startHelper } from '../../remote/helper.ts';
import { type CredentialFiles, loadCredentials } from '../credentials.ts';
import { serveNode } from '../serve-node.ts';
import { createImagesInMemory } from './images-in-memory.ts';

/** The argument. */
export interface NodeProcessOptions {
  helper: HelperOptions;
  host: string;
  files: CredentialFiles;
}

const { helper, host, files } = JSON.parse(process.argv[2] as string) as NodeProcessOptions;
const runtime = await startHelper(helper);
const server = await serveNode(runtime, {
  listen: { host, port: 0 },
  credentials: loadCredentials(files, { role: 'node' }),
  ownerFile: join(helper.dataDir, 'run', 'owner.json'),
  measureFolder: async () => [],
  describe: () => ({
    version: 'test',
    base: { rootfs: '/', digest: '' },
    templatesFolder: '/',
    room: { sandboxes: 1, memoryBytes: 1, cpuCount: 1 },
    usedMemoryBytes: 0,
  }),
  images: createImagesInMemory(),
  snapshotSocket: toSnapshotSocket(helper.dataDir),
  onOwner: () => undefined,
  onError: (error) => console.error(error),
  onStranger: (message, fields) => console.error(message, fields),
});
console.log(server.address.port);
process.stdin.resume();
await once(process.stdin, 'close');
await server.close();
await runtime.close();
process.exit(0);
