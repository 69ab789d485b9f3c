import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** Names content: 12 hex digits. */
export const toDigest = (...parts: readonly (string | Uint8Array)[]): string => {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(`${part.length}:`).update(part);
  return hash.digest('hex').slice(0, 12);
};

const workPrefix = '.work-';

/** Makes a folder in the cache that goes with this process, at the latest when another one asks for the next. */
export function makeWorkFolder(cacheDir: string): string {
  mkdirSync(cacheDir, { recursive: true });
  for (const name of readdirSync(cacheDir).filter((entry) => entry.startsWith(workPrefix))) {
    const pid = name.slice(workPrefix.length).split('-')[0] ?? '';
    if (!existsSync(`/proc/${pid}`)) rmSync(join(cacheDir, name), { recursive: true, force: true });
  }
  return mkdtempSync(join(cacheDir, `${workPrefix}${process.pid}-`));
}

/**
 * Resolves with the folder `name-digest` of the cache, which `build` fills at the first time. It gets its name in one step,
 * so one that was cut short is never used; folders of the same name and another digest are removed.
 */
export async function buildOnce(options: {
  cacheDir: string;
  name: string;
  digest: string;
  build: (folder: string) => Promise<void>;
}): Promise<string> {
  const { cacheDir, name, digest, build } = options;
  const target = join(cacheDir, `${name}-${digest}`);
  if (existsSync(target)) return target;
  console.log(`building ${name}`);
  const work = makeWorkFolder(cacheDir);
  try {
    await build(work);
    renameSync(work, target);
  } catch (error) {
    rmSync(work, { recursive: true, force: true });
    throw error;
  }
  const older = new RegExp(`^${name}-[0-9a-f]{12}$`);
  for (const entry of readdirSync(cacheDir)) {
    if (older.test(entry) && entry !== `${name}-${digest}`)
      rmSync(join(cacheDir, entry), { recursive: true, force: true });
  }
  return target;
}
