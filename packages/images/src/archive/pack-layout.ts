import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { pack } from 'tar-stream';

const BLOCK_BYTES = 512;

/** An archive that is made while it is read. */
export interface PackedLayout {
  archive: Readable;
  /** The size of the archive. */
  sizeBytes: number;
}

/**
 * An image layout as a tar archive, with the same bytes each time. The archive fails when a file cannot be read. Destroy it if
 * you do not read it to its end.
 */
export async function packLayout(folder: string): Promise<PackedLayout> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const names = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .toSorted();
  const files = await Promise.all(
    names.map(async (name) => ({
      name,
      path: join(folder, name),
      size: (await stat(join(folder, name))).size,
    })),
  );
  const archive = pack();
  const addAll = async (): Promise<void> => {
    for (const { name, path, size } of files) {
      const entry = archive.entry({ name, size, mode: 0o644, mtime: new Date(0) });
      await pipeline(createReadStream(path), entry);
    }
    archive.finalize();
  };
  addAll().catch((error: Error) => archive.destroy(error));
  const blocks = files.map(({ size }) => 1 + Math.ceil(size / BLOCK_BYTES));
  // The end of an archive is two empty blocks.
  const blockCount = blocks.reduce((sum, count) => sum + count, 2);
  return { archive: archive as unknown as Readable, sizeBytes: blockCount * BLOCK_BYTES };
}
