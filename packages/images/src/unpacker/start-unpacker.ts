import { pipeline } from 'node:stream/promises';
import { ImageError, isImageErrorCode } from '../image-error.ts';
import type { ImageTree, OpenTreeOptions } from '../image-tree.ts';
import { createVerifier } from '../oci/verified-blob.ts';
import type { OnProgress } from '../progress.ts';
import type { TreeCall, TreeReply } from './tree-call.ts';
import { defaultLimits, startUnpackerProcess, type UnpackerLimits } from './unpacker-process.ts';

/** Starts the process that makes the tree of an image. Throws the reason of a signal that has aborted. */
export const startUnpacker = ({
  program,
  rootfs,
  roomFolder,
  limits = defaultLimits,
  signal,
}: OpenTreeOptions & {
  /** The absolute path of the main file, which calls `runUnpacker`. */
  program: string;
  limits?: UnpackerLimits;
}): ImageTree => {
  const start = () => startUnpackerProcess([program, rootfs, roomFolder], { limits, signal });
  let unpacker = start();
  let hasFailed = false;

  const send = (call: TreeCall): Promise<boolean> => unpacker.write(`${JSON.stringify(call)}\n`);

  const receive = async <T = void>(onProgress?: OnProgress): Promise<T> => {
    for (;;) {
      const reply = JSON.parse(await unpacker.read()) as TreeReply;
      if (reply.kind === 'result') return reply.result as T;
      if (reply.kind === 'error') throw toError(reply);
      onProgress?.(reply.progress);
    }
  };

  const call = async <T = void>(message: TreeCall, onProgress?: OnProgress): Promise<T> => {
    await send(message);
    return receive<T>(onProgress);
  };

  const addLayer: ImageTree['addLayer'] = async ({ descriptor, blob, onBytes }) => {
    await send({ method: 'addLayer', descriptor });
    let isRunning = true;
    // The process takes bytes that are found to be wrong at their end: then the tree cannot be used.
    await pipeline(
      blob,
      createVerifier({ ...descriptor, onBytes }),
      async (pieces: AsyncIterable<Buffer>) => {
        for await (const piece of pieces) {
          isRunning = await unpacker.write(piece);
          if (!isRunning) return;
        }
      },
    ).catch((error: unknown) => {
      if (isRunning) throw error;
    });
    return receive();
  };

  return {
    begin: async () => {
      // The process ends with the first layer that it cannot unpack: a pull that goes on without that layer needs another.
      if (hasFailed) {
        await unpacker.end();
        unpacker = start();
        hasFailed = false;
      }
      await call({ method: 'begin' });
    },
    addLayer: async (layer) => {
      try {
        await addLayer(layer);
      } catch (error) {
        hasFailed = true;
        throw error;
      }
    },
    endLayers: () => call({ method: 'endLayers' }),
    load: (source, { onProgress }) => call({ method: 'load', source }, onProgress),
    prepare: (options) => call({ method: 'prepare', ...options }),
    inspectBase: (contents) => call({ method: 'inspectBase', contents }),
    finishBase: (options) => call({ method: 'finishBase', ...options }),
    close: () => unpacker.end(),
  };
};

const toError = ({ code, message, remedy }: Extract<TreeReply, { kind: 'error' }>): Error =>
  isImageErrorCode(code)
    ? new ImageError(code, message, remedy === undefined ? {} : { remedy })
    : new Error(`the process that unpacks images failed: ${message}`);
