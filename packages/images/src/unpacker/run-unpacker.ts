import { writeFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { ImageError } from '../image-error.ts';
import { type ReadSpareRoom, toRequireRoom } from '../room.ts';
import { createLocalTree } from './local-tree.ts';
import { type CallReader, createCallReader } from './read-calls.ts';
import type { TreeCall, TreeReply } from './tree-call.ts';

/**
 * Makes the tree of an image as its stdin tells it: the main function of the process that `startUnpacker` starts, with the
 * arguments that it gives. Resolves with the exit status at the end of stdin, or after the first call that fails.
 */
export const runUnpacker = async ({
  argv: [rootfs = '', roomFolder = ''],
  readSpareRoom,
}: {
  argv: readonly string[];
  readSpareRoom: ReadSpareRoom;
}): Promise<number> => {
  // Where the memory of the host runs out, this process ends before others.
  writeFileSync('/proc/self/oom_score_adj', '1000');
  const tree = createLocalTree(rootfs, { requireRoom: toRequireRoom(roomFolder, readSpareRoom) });
  const calls = createCallReader(process.stdin);
  for (;;) {
    const line = await calls.line();
    if (line === undefined) return 0;
    try {
      const result = await answer(JSON.parse(line) as TreeCall, tree, calls);
      await send({ kind: 'result', result });
    } catch (error) {
      await send(toReply(error));
      return 1;
    }
  }
};

const answer = async (
  call: TreeCall,
  tree: ReturnType<typeof createLocalTree>,
  calls: CallReader,
): Promise<unknown> => {
  switch (call.method) {
    case 'addLayer': {
      const { descriptor } = call;
      const blob = Readable.from(calls.take(descriptor.sizeBytes), { objectMode: false });
      return tree.addLayer({ descriptor, blob, verifies: 'nothing' });
    }
    case 'load':
      return tree.load(call.source, { onProgress: (progress) => void send({ kind: 'progress', progress }) });
    case 'prepare':
      return tree.prepare(call);
    case 'inspectBase':
      return tree.inspectBase(call.contents);
    case 'finishBase':
      return tree.finishBase(call);
    case 'begin':
    case 'endLayers':
      return tree[call.method]();
  }
};

const send = (reply: TreeReply): Promise<void> =>
  new Promise((resolve) => {
    process.stdout.write(`${JSON.stringify(reply)}\n`, () => resolve());
  });

const toReply = (error: unknown): TreeReply => {
  if (error instanceof ImageError) {
    const { code, message, remedy } = error;
    return { kind: 'error', code, message, remedy };
  }
  const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { kind: 'error', code: undefined, message, remedy: undefined };
};
