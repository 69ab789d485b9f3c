// Run by criu-capabilities.driver.test.ts in namespaces of its own: criu-lab FOLDER BASE_ID. The folder has a program in the place of CRIU's
// loader, which writes the rights that it was started with. Starts it as CRIU is for a dump and for a restore.
import { openSync } from 'node:fs';
import { type Criu, findCriu } from '../criu/criu.ts';

const [folder = '', baseId = ''] = process.argv.slice(2);
const { dump, restore } = findCriu(folder) as Criu;
const images = {
  imagesDir: `${folder}/images`,
  baseId: Number(baseId),
  livenessPipeId: 'file[1:1]',
  memoryBytes: 2 ** 20,
};
const nothing = openSync('/dev/null', 'r');

await dump({
  ...images,
  pid: process.pid,
  hasBootId: false,
  maskedFolders: [],
  cgroup: { freeze: async () => undefined, freezerPath: folder },
  lineFd: nothing,
  whileHeld: undefined,
});
await restore({
  ...images,
  root: folder,
  guestDir: folder,
  agentDir: folder,
  bootIdFile: undefined,
  emptyDir: folder,
  pidFile: `${folder}/pid`,
  memberFiles: [],
  livenessFd: Promise.resolve(nothing),
  shown: [],
  prepareMounts: () => undefined,
  prepareNetwork: undefined,
  signal: new AbortController().signal,
});
