import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { RuntimeError } from '@skerry/runtime';
import type { HostImages } from '../../images/template-images.ts';
import type { NodeImages } from '../fleet-images.ts';

/** The images of a node, by digest, whose paths begin with its folder. It makes none from registries or archives. */
export const createImagesInMemory = (folder: string, contents: Map<string, string>): NodeImages => {
  const refuse = (): never => {
    throw new RuntimeError('unsupported', 'nothing is pulled in memory');
  };
  const templates: HostImages = {
    check: () => undefined,
    findTarget: () => undefined,
    make: refuse,
    findOrigin: refuse,
    load: refuse,
    save: undefined,
    toUnfinished: (name) => `${folder}/unfinished-${name}`,
    keep: async ({ file, digest }) => void contents.set(digest, file),
    toPath: (digest) => `${folder}/${digest}`,
    list: async () => [...contents.keys()],
    remove: async (digest) => void contents.delete(digest),
    listLayers: async () => [],
    removeLayer: async () => {},
  };
  return {
    templates,
    find: async (digest) => contents.has(digest),
    read: async (digest) => {
      const content = contents.get(digest);
      if (content === undefined) throw new RuntimeError('not_found', 'no such image');
      return { sizeBytes: content.length, body: Readable.from([Buffer.from(content)]) };
    },
    write: async ({ digest }, body) => void contents.set(digest, String(await buffer(body))),
  };
};
