import { createHash } from 'node:crypto';
import { open, readFile } from 'node:fs/promises';
import { createYielder } from '../../../concurrency/yielder.ts';
import { RuntimeError } from '../../../error.ts';
import type { Layer, LayerEntry } from './tree-entry.ts';

/** The part of a snapshot's record about its manifest. */
export interface ManifestSummary {
  /** The hash of the file, in hex. */
  sha256: string;
  entryCount: number;
}

const CHUNK_CHARACTERS = 65_536;

/** Writes one entry a line as JSON to a new file. It is on the medium when this resolves, except for its name. */
export const writeManifest = async (
  path: string,
  entries: AsyncIterable<LayerEntry>,
): Promise<ManifestSummary> => {
  const hash = createHash('sha256');
  let entryCount = 0;
  await using file = await open(path, 'wx', 0o600);
  const write = async (text: string): Promise<void> => {
    hash.update(text);
    await file.writeFile(text);
  };
  let text = '';
  for await (const entry of entries) {
    entryCount += 1;
    text += `${JSON.stringify(entry)}\n`;
    if (text.length < CHUNK_CHARACTERS) continue;
    await write(text);
    text = '';
  }
  await write(text);
  await file.sync();
  return { sha256: hash.digest('hex'), entryCount };
};

/** Rejects with `damaged` when the file differs from its summary. */
export const readManifest = async (path: string, summary: ManifestSummary): Promise<Layer> => {
  const bytes = await readFile(path).catch((error: unknown) => {
    throw new RuntimeError('damaged', 'its manifest cannot be read', { cause: error });
  });
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  if (sha256 !== summary.sha256) {
    throw new RuntimeError('damaged', `the hash of its manifest is ${sha256} and was ${summary.sha256}`);
  }
  const layer = new Map<string, LayerEntry>();
  const takeTurns = createYielder();
  for (const line of bytes.toString('utf8').split('\n').slice(0, -1)) {
    await takeTurns();
    const entry = JSON.parse(line) as LayerEntry;
    layer.set(entry.path, entry);
  }
  return layer;
};

export const collectLayer = async (entries: AsyncIterable<LayerEntry>): Promise<Layer> => {
  const layer = new Map<string, LayerEntry>();
  for await (const entry of entries) layer.set(entry.path, entry);
  return layer;
};
