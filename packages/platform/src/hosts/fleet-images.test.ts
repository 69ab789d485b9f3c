import { Readable } from 'node:stream';
import { RuntimeError } from '@skerry/runtime';
import { beforeEach, describe, expect, it } from 'vitest';
import { createManualClock } from '../testing/manual-clock.ts';
import { createRecordingLog } from '../testing/recording-log.ts';
import { createFleetImages, type FleetImages, type ImageNode, isImageOfNodes } from './fleet-images.ts';
import { createImagesInMemory } from './testing/images-in-memory.ts';

let contents: Record<string, Map<string, string>>;
/** The blob store. */
let stored: Map<string, string>;
let isStoreAway: boolean;
let nodes: ImageNode[];
let reads: string[];
let fleet: FleetImages;

/** A node whose reads are recorded. */
const join = (name: string, held: Record<string, string> = {}): ImageNode => {
  const own = new Map(Object.entries(held));
  contents[name] = own;
  const images = createImagesInMemory(`/${name}`, own);
  const read = (digest: string) => {
    reads.push(`${digest} of ${name}`);
    return images.read(digest);
  };
  const node = { name, images: { ...images, read } };
  nodes.push(node);
  return node;
};

const toNodePath = (digest: string, node: ImageNode): Promise<string> =>
  fleet.toNodePath(fleet.templates.toPath(digest), node);

beforeEach(() => {
  contents = {};
  nodes = [];
  reads = [];
  stored = new Map();
  isStoreAway = false;
  fleet = createFleetImages({
    openCopy: async (digest) => {
      reads.push(`${digest} of the blob store`);
      if (isStoreAway) throw new RuntimeError('unavailable', 'the bucket does not answer');
      const content = stored.get(digest);
      return content === undefined
        ? undefined
        : { sizeBytes: content.length, body: Readable.from([Buffer.from(content)]) };
    },
    reachable: () => nodes,
    builder: () => nodes[0] as ImageNode,
    clock: createManualClock().clock,
    log: createRecordingLog().log,
  });
});

describe('the images of nodes', () => {
  it('are copied to a node that lacks one, once for all that need it there, and again only if it is gone', async () => {
    const [, target] = [join('a', { d1: 'one', d2: 'two' }), join('b')];
    const paths = await Promise.all(['d1', 'd1', 'd2', 'd1'].map((digest) => toNodePath(digest, target)));
    expect(paths).toEqual(['/b/d1', '/b/d1', '/b/d2', '/b/d1']);
    await toNodePath('d1', target);
    expect(reads.toSorted()).toEqual(['d1 of a', 'd2 of a']);
    contents.b?.delete('d1');
    fleet.doubt('/b/d1', target);
    await toNodePath('d1', target);
    expect(reads).toHaveLength(3);
    expect(contents.b).toEqual(new Map(Object.entries({ d1: 'one', d2: 'two' })));
    expect([fleet.templates.toPath('d1'), '/a/d1'].map(isImageOfNodes)).toEqual([true, false]);
  });

  it('come from the blob store when no node that answers has one, and are read for it where they are', async () => {
    const [, target] = [join('a', { d1: 'one' }), join('b')];
    stored.set('d2', 'two');
    isStoreAway = true;
    await expect(toNodePath('d2', target)).rejects.toMatchObject({ status: 503 });
    isStoreAway = false;
    reads.length = 0;
    const paths = await Promise.all(['d2', 'd2'].map((digest) => toNodePath(digest, target)));
    expect(paths).toEqual(['/b/d2', '/b/d2']);
    expect(reads).toEqual(['d2 of a', 'd2 of the blob store']);
    expect(contents.b).toEqual(new Map([['d2', 'two']]));
    await expect(toNodePath('d3', target)).rejects.toMatchObject({ status: 503 });
    const { sizeBytes, body } = await fleet.open('d1');
    expect([sizeBytes, String(Buffer.concat(await body.toArray()))]).toEqual([3, 'one']);
    await expect(fleet.open('d3')).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('come from another node when the first has none, or fails in the middle', async () => {
    const broken = join('a');
    broken.images.read = async () => ({
      sizeBytes: 3,
      body: Readable.from(
        (async function* () {
          yield Buffer.from('o');
          throw new RuntimeError('unavailable', 'it was cut');
        })(),
      ),
    });
    join('b');
    join('c', { d1: 'one' });
    const target = join('d');
    expect(await toNodePath('d1', target)).toBe('/d/d1');
    expect(contents.d?.get('d1')).toBe('one');
    expect(reads).toEqual(['d1 of b', 'd1 of c']);
  });

  it('go nowhere else when the node has no room for them or cannot be reached', async () => {
    join('a', { d1: 'one' });
    join('b', { d1: 'one' });
    const full = join('c');
    full.images.write = () => Promise.reject(new RuntimeError('exhausted', 'full'));
    await expect(toNodePath('d1', full)).rejects.toMatchObject({ code: 'exhausted' });
    expect(reads).toEqual(['d1 of a']);
    full.images.find = () => Promise.reject(new RuntimeError('unavailable', 'no answer'));
    await expect(toNodePath('d1', full)).rejects.toThrow('node "c" cannot be reached');
  });

  it('are copied at the next need when no node could send them', async () => {
    const target = join('b');
    await expect(toNodePath('d1', target)).rejects.toMatchObject({ status: 503 });
    join('a', { d1: 'one' });
    expect(await toNodePath('d1', target)).toBe('/b/d1');
  });

  it('are kept where they were written, listed once, and removed everywhere', async () => {
    const [a, b] = [join('a', { d2: 'two' }), join('b', { d2: 'two' })];
    await b.images.templates.keep({ file: '/b/unfinished-n1', digest: 'd1' });
    fleet.noteKept('d1', 'b');
    expect((await fleet.templates.list()).toSorted()).toEqual(['d1', 'd2']);
    await toNodePath('d1', a);
    for (const digest of ['d1', 'd2']) await fleet.templates.remove(digest);
    expect([contents.a, contents.b]).toEqual([new Map(), new Map()]);
    await expect(toNodePath('d1', a)).rejects.toMatchObject({ status: 503 });
  });
});
