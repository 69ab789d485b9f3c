import { readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { buildOnce, toDigest } from './built-once.ts';
import { guestPackages, type LabHost, toSources } from './hosts.ts';
import { runTool } from './run-tool.ts';

const guestDir = join(import.meta.dirname, 'guest');
const preparing = ['prepare.sh', 'agent.py', 'agent.service'];
const diskSize = '14G';

/** Files of a guest that QEMU starts from. Nothing writes to them. */
export interface GuestImage {
  disk: string;
  kernel: string;
  initrd: string;
}

/** Resolves with the image of a host, made of Debian's packages when there is none of this content. Needs root. */
export async function ensureGuestImage(
  host: LabHost,
  { cacheDir }: { cacheDir: string },
): Promise<GuestImage> {
  const packages = [...guestPackages, host.kernel];
  const sources = toSources(host);
  const files = preparing.map((name) => readFileSync(join(guestDir, name)));
  const folder = await buildOnce({
    cacheDir,
    name: host.name,
    digest: toDigest(JSON.stringify([host.suite, packages, sources, diskSize]), ...files),
    build: async (work) => {
      const root = join(work, 'root');
      await runTool('nice', [
        'mmdebstrap',
        '--variant=minbase',
        `--include=${packages.join(',')}`,
        `--customize-hook=sh ${guestDir}/prepare.sh "$1" ${guestDir}`,
        host.suite,
        root,
        ...sources,
      ]);
      await runTool('mke2fs', [
        '-q',
        '-t',
        'ext4',
        '-L',
        'root',
        '-d',
        root,
        join(work, 'disk.ext4'),
        diskSize,
      ]);
      for (const [part, name] of [
        ['vmlinuz-', 'kernel'],
        ['initrd.img-', 'initrd'],
      ] as const)
        renameSync(join(root, 'boot', findOne(join(root, 'boot'), part)), join(work, name));
      rmSync(root, { recursive: true });
    },
  });
  return { disk: join(folder, 'disk.ext4'), kernel: join(folder, 'kernel'), initrd: join(folder, 'initrd') };
}

function findOne(folder: string, start: string): string {
  const [name, ...others] = readdirSync(folder).filter((entry) => entry.startsWith(start));
  if (name === undefined || others.length > 0)
    throw new Error(`${folder} must hold one ${start}*, found ${[name, ...others].join(', ')}`);
  return name;
}
