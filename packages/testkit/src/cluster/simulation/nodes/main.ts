// Many nodes in one process, each with a door, a certificate and a runtime of its own: node main.ts SETTINGS, as JSON.
import { mkdirSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { join } from 'node:path';
import { controlPaths } from '@skerry/contract/agent-control';
import { addImagesService } from '@skerry/images/service';
import { createMemory } from '@skerry/runtime/memory';
import { loadCredentials, serveNode } from '@skerry/runtime/node';
import type { NodeHostSettings } from '../node-host.ts';

/** The agent of an idle sandbox: accepts all settings, and its log never has a new entry. */
const agent = (): RequestListener => (request, response) => {
  if (request.url?.startsWith(controlPaths.logs)) {
    response.writeHead(200).flushHeaders();
    return;
  }
  request.resume().on('end', () => response.writeHead(204).end());
};

const refuse = async (): Promise<never> => {
  throw new Error('a simulated node makes no images');
};

const { folder, host, nodes, certificates, room } = JSON.parse(process.argv[2] ?? '') as NodeHostSettings;
for (const { name, port } of nodes) {
  const dataDir = join(folder, name);
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const file = (kind: string): string => join(certificates, `${name}.${kind}`);
  const files = { cert: file('crt'), key: file('key'), ca: join(certificates, 'ca.crt') };
  await serveNode(createMemory({ dataDir, agent }), {
    listen: { host, port },
    credentials: loadCredentials(files, { role: 'node' }),
    ownerFile: join(dataDir, 'owner.json'),
    // A folder that is there: no program runs in it.
    describe: () => ({
      version: 'simulated',
      base: { rootfs: '/', digest: 'sha256:none' },
      templatesFolder: dataDir,
      room,
      usedMemoryBytes: 0,
    }),
    measureFolder: async () => new Map(),
    images: { has: async () => false, read: async () => undefined, write: async () => undefined },
    // Servers ask for the images of each node, of which there are none.
    addServices: (router) =>
      addImagesService(router, {
        ...{ withFolderLock: refuse, makeImageFile: refuse, sealImageFolder: refuse },
        readSpareRoom: () => ({ sizeBytes: 0, entryCount: 0 }),
        isPublicAddress: () => false,
        unpackerProgram: '',
      }),
    snapshotSocket: join(dataDir, 'none.sock'),
    onOwner: () => undefined,
    onError: (error) => console.error(error.message),
    onStranger: (message, fields) => console.error(message, fields),
  });
}
console.log('{}');
