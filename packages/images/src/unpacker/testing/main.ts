// The unpacker for tests: a folder has the room that `room.json` beside it says, by default 1 GiB.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { ReadSpareRoom } from '../../room.ts';
import { runUnpacker } from '../run-unpacker.ts';

const readSpareRoom: ReadSpareRoom = (folder) => {
  try {
    return JSON.parse(readFileSync(join(dirname(folder), 'room.json'), 'utf8')) as ReturnType<ReadSpareRoom>;
  } catch {
    return { sizeBytes: 2 ** 30, entryCount: 1_000_000 };
  }
};

process.exit(await runUnpacker({ argv: process.argv.slice(2), readSpareRoom }));
