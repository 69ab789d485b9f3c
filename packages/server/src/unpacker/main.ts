// The unpacker: a process of the helper for each image that it makes, without its rights and its memory.
import { runUnpacker } from '@skerry/images/unpacker';
import { readSpareRoom } from '@skerry/runtime/room';

process.exit(await runUnpacker({ argv: process.argv.slice(2), readSpareRoom }));
