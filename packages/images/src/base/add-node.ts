import {
  chmodSync,
  existsSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { arch } from 'node:os';
import { dirname, join } from 'node:path';
import { ImageError } from '../image-error.ts';
import { containedPath } from '../oci/layer/contained-path.ts';
import { userId } from './account.ts';
import { nodePackages } from './node-packages.ts';
import { fetchNpmPackages, type NpmClient } from './npm-client.ts';
import { isRootfsFile, writeRootfsFile } from './rootfs-file.ts';

/** Node.js and npm, unpacked. */
export interface FetchedNode {
  nodeFolder: string;
  npmFolder: string;
}

/** Whether the image has a Node.js with npm already, of any release. */
export const hasNode = (rootfs: string): boolean =>
  ['/usr/local/bin', '/usr/bin'].some((folder) =>
    ['node', 'npm'].every((name) => isRootfsFile(rootfs, join(folder, name))),
  );

/** Fetches the pinned releases into `<workDir>/node`. Rejects as `fetchNpmPackages` does, or with `unsupported_host`. */
export async function fetchNode(options: {
  workDir: string;
  npm: NpmClient | undefined;
  signal?: AbortSignal | undefined;
}): Promise<FetchedNode> {
  const name = `node-linux-${arch()}`;
  const { [name]: node, npm } = nodePackages;
  if (node === undefined || npm === undefined)
    throw new ImageError('unsupported_host', `no Node.js is pinned for ${arch()}`, {
      remedy: 'skerry up --base minimal',
    });
  const folder = join(options.workDir, 'node');
  await fetchNpmPackages({ [name]: node, npm }, { ...options, folder });
  const modules = join(folder, 'node_modules');
  return { nodeFolder: join(modules, name), npmFolder: join(modules, 'npm') };
}

/**
 * Moves them to `/usr/local` of the image, which is on the same file system. They are owned by `user`, who may update them and add
 * packages with `npm install --global`.
 */
export function addNode(rootfs: string, { nodeFolder, npmFolder }: FetchedNode): void {
  const place = (name: string): string => containedPath(rootfs, join('/usr/local', name));
  const move = (from: string, name: string): void => {
    const path = place(name);
    makeFolder(dirname(path));
    rmSync(path, { recursive: true, force: true });
    renameSync(from, path);
    chownTree(path);
  };
  move(join(nodeFolder, 'bin/node'), 'bin/node');
  move(join(nodeFolder, 'include/node'), 'include/node');
  move(join(nodeFolder, 'LICENSE'), 'share/doc/node/LICENSE');
  // Manuals are in no part of the image.
  for (const name of ['docs', 'man']) rmSync(join(npmFolder, name), { recursive: true, force: true });
  move(npmFolder, 'lib/node_modules/npm');
  for (const name of ['npm', 'npx']) {
    const link = place(`bin/${name}`);
    rmSync(link, { force: true });
    symlinkSync(`../lib/node_modules/npm/bin/${name}-cli.js`, link);
    lchownSync(link, userId, userId);
  }
  // npm adds to these.
  for (const name of ['bin', 'lib', 'lib/node_modules', 'share']) lchownSync(place(name), userId, userId);
  writeRootfsFile(rootfs, '/usr/local/etc/npmrc', 'fund=false\nupdate-notifier=false\n');
}

function makeFolder(path: string): void {
  if (existsSync(path)) return;
  makeFolder(dirname(path));
  mkdirSync(path);
  chmodSync(path, 0o755);
}

function chownTree(path: string): void {
  lchownSync(path, userId, userId);
  if (!lstatSync(path).isDirectory()) return;
  for (const child of readdirSync(path)) chownTree(join(path, child));
}
