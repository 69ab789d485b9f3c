import type { Readable } from 'node:stream';
import { ApiError } from '@skerry/contract/error';
import { isRuntimeError, RuntimeError } from '@skerry/runtime';
import type { Clock } from '../clock.ts';
import type { HostImages, TemplateImages } from '../images/template-images.ts';
import type { Log } from '../log.ts';
import { askNodes } from './ask-nodes.ts';
import { NodeUnreachableError, namingNode } from './unreachable.ts';

/** The images of templates on one node. */
export interface NodeImages {
  /** Makes images there. Its paths are those of the node. */
  templates: HostImages;
  find(digest: string): Promise<boolean>;
  /** Rejects with `not_found` when the node has none. The body must be read or destroyed. */
  read(digest: string): Promise<{ sizeBytes: number; body: Readable }>;
  /** Resolves when the node has the image, also when it had it before; the body may be unread then. */
  write(image: { digest: string; sizeBytes: number }, body: Readable): Promise<void>;
}

/** A node that answers now. */
export interface ImageNode {
  name: string;
  images: NodeImages;
}

/** An image, whose body must be read or destroyed. */
export interface OpenImage {
  sizeBytes: number;
  body: Readable;
}

/** A node that may have images. */
interface ImageSource {
  name: string;
  images: Pick<NodeImages, 'read'>;
}

export interface FleetImagesOptions {
  /** The nodes that answer now. */
  reachable(): ImageNode[];
  /** Nodes of other servers, from which images can be read. Default: none. */
  others?: () => ImageSource[];
  /** The node that builds templates now. Throws `ApiError` when none can. */
  builder(): ImageNode;
  /** Opens a copy of an image in the blob store; undefined when it has none. Default: there is no blob store. */
  openCopy?: ((digest: string) => Promise<OpenImage | undefined>) | undefined;
  clock: Pick<Clock, 'elapsed'>;
  log: Log;
}

/** The images of templates of all nodes. */
export interface FleetImages {
  /**
   * The images as one machine would have them. Their paths exist on no node until `toNodePath` has translated
   * them: an image is only on nodes that have needed it.
   */
  templates: TemplateImages;
  /**
   * The path of an image on a node, which gets it from another one first when it lacks it, or else from the blob store: once, for all
   * callers that need it there at the same time. Rejects with `ApiError` when neither another node that answers nor the blob store has it, and with
   * `RuntimeError`, `exhausted`, when the node has no room for it.
   */
  toNodePath(path: string, node: ImageNode): Promise<string>;
  /** Opens an image on a node that has it. Rejects with `RuntimeError`, `unavailable`, when none that answers does. */
  open(digest: string): Promise<OpenImage>;
  /** Asks the node again at the next need whether it has the image of that path there: a sandbox could not begin with it. */
  doubt(nodePath: string, node: ImageNode): void;
  /** Records that a node has made an image. */
  noteKept(digest: string, node: string): void;
}

/** The image of the base template, whose path each node knows. */
export const baseOfNode = 'node:base';

const imagePrefix = 'node:image/';

/** Whether a path is one of `FleetImages`. */
export const isImageOfNodes = (path: string): boolean => path.startsWith(imagePrefix);

export const createFleetImages = ({
  reachable,
  builder,
  clock,
  log,
  others: listOthers = () => [],
  openCopy = async () => undefined,
}: FleetImagesOptions): FleetImages => {
  /** Node → the images that it is known to have. */
  const known = new Map<string, Set<string>>();
  const copying = new Map<string, Promise<void>>();

  const knownOf = (node: string): Set<string> => {
    const set = known.get(node) ?? new Set();
    known.set(node, set);
    return set;
  };

  const copyFrom = async (
    from: string,
    target: ImageNode,
    { digest, open }: { digest: string; open: () => Promise<OpenImage | undefined> },
  ): Promise<boolean> => {
    const begunAt = clock.elapsed();
    try {
      const opened = await open();
      if (opened === undefined) return false;
      const { sizeBytes, body } = opened;
      try {
        await target.images.write({ digest, sizeBytes }, body);
      } finally {
        body.destroy();
      }
      const tookMs = Math.round(clock.elapsed() - begunAt);
      log.info('an image was copied to a node', { digest, from, to: target.name, sizeBytes, tookMs });
      return true;
    } catch (error) {
      if (isRuntimeError(error, 'exhausted')) throw error;
      if (!isRuntimeError(error, 'not_found'))
        log.warn('an image could not be copied to a node', { digest, from, to: target.name, error });
      return false;
    }
  };

  /** The nodes that may have an image; those that are known to have it first. */
  const listSources = (digest: string): ImageSource[] => {
    const has = ({ name }: ImageSource): number => Number(knownOf(name).has(digest));
    return [...reachable(), ...listOthers()].sort((a, b) => has(b) - has(a));
  };

  const bring = async (digest: string, target: ImageNode): Promise<void> => {
    const { name, images } = target;
    const isThere = await images.find(digest).catch((error: unknown): never => {
      throw isRuntimeError(error, 'unavailable') ? new NodeUnreachableError(name, { cause: error }) : error;
    });
    if (isThere) return;
    const others = listSources(digest).filter((other) => other.name !== name);
    for (const other of others)
      if (await copyFrom(other.name, target, { digest, open: () => other.images.read(digest) })) return;
    if (await copyFrom('the blob store', target, { digest, open: () => openCopy(digest) })) return;
    throw new ApiError('unavailable', 'no node that answers now has the files of the template', {
      reason: 'sandbox_capacity_unavailable',
    });
  };

  const ensure = async (digest: string, target: ImageNode): Promise<void> => {
    const has = knownOf(target.name);
    if (has.has(digest)) return;
    const key = `${target.name} ${digest}`;
    const copy =
      copying.get(key) ??
      bring(digest, target)
        .then(() => void has.add(digest))
        .finally(() => copying.delete(key));
    copying.set(key, copy);
    await copy;
  };

  const toKept = <T extends { digest: string }>(node: string, image: T): T => {
    knownOf(node).add(image.digest);
    return image;
  };

  /** Calls `work` with the images of the node that builds. */
  const build = async <T>(work: (templates: TemplateImages, node: string) => Promise<T>): Promise<T> => {
    const { name, images } = builder();
    return namingNode(name, work(images.templates, name));
  };

  return {
    templates: {
      check: (reference) => builder().images.templates.check(reference),
      findTarget: (reference) => builder().images.templates.findTarget(reference),
      make: (options) => build(async (templates, node) => toKept(node, await templates.make(options))),
      findOrigin: (options) => build((templates) => templates.findOrigin(options)),
      load: (options) => build(async (templates, node) => toKept(node, await templates.load(options))),
      save: undefined,
      toPath: (digest) => `${imagePrefix}${digest}`,
      list: async () => {
        const lists = await askNodes(reachable(), ({ images }) => images.templates.list());
        return [...new Set(lists.flat())];
      },
      remove: async (digest) => {
        await askNodes(reachable(), ({ name, images }) => {
          knownOf(name).delete(digest);
          return images.templates.remove(digest);
        });
      },
      listLayers: async () => [],
      removeLayer: async () => {},
    },
    toNodePath: async (path, node) => {
      const digest = path.slice(imagePrefix.length);
      await ensure(digest, node);
      return node.images.templates.toPath(digest);
    },
    open: async (digest) => {
      for (const { name, images } of listSources(digest)) {
        try {
          return await images.read(digest);
        } catch (error) {
          if (!isRuntimeError(error, 'not_found'))
            log.warn('an image could not be read from a node', { digest, node: name, error });
        }
      }
      throw new RuntimeError('unavailable', 'no node that answers now has the image');
    },
    doubt: (nodePath, { name, images }) => {
      const has = knownOf(name);
      for (const digest of has) if (images.templates.toPath(digest) === nodePath) has.delete(digest);
    },
    noteKept: (digest, node) => void knownOf(node).add(digest),
  };
};
