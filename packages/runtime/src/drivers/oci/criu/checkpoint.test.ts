import { lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { open, rename, rm, truncate, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type Checkpoint,
  countProcesses,
  isCriuMemory,
  isPages,
  keepImages,
  listImages,
  type MemoryImages,
  moveImages,
  requireUntouched,
  shareImages,
  verifyImages,
} from './checkpoint.ts';
import { createUserNamespaceImage } from './images/user-namespace-image.ts';

const writtenAt = new Date('2026-01-02T03:04:05Z');
const contents = {
  'core-1.img': 'registers of one',
  'core-2.img': 'registers of two',
  'pages-1.img': 'memory'.repeat(10_000),
  'inventory.img': 'what there is',
};
const names = Object.keys(contents).sort();

let parent: string;
let folder: string;
beforeEach(async () => {
  parent = mkdtempSync(join(tmpdir(), 'skerry-checkpoint-'));
  folder = mkdtempSync(join(parent, 'images-'));
  const files = { ...contents, 'userns-7.img': 'ids', 'dump.log': 'as text', 'stats-dump': 'numbers' };
  for (const [name, text] of Object.entries(files)) {
    await writeFile(join(folder, name), text, { mode: 0o600 });
    await utimes(join(folder, name), writtenAt, writtenAt);
  }
});
afterEach(() => rmSync(parent, { recursive: true }));

/** Writes into an image and sets its time back, as a program does that hides its change. */
const writeAt = async (name: string, offset: number, text: string): Promise<void> => {
  await using file = await open(join(folder, name), 'r+');
  await file.write(text, offset);
  await file.utimes(writtenAt, writtenAt);
};
const damaged = (what: string) => ({ code: 'damaged', message: expect.stringContaining(what) });
const thrownBy = (act: () => void): unknown => {
  try {
    act();
  } catch (error) {
    return error;
  }
  return undefined;
};

describe('the images of a checkpoint', () => {
  it('are listed with size and time, apart from the one that each resume rewrites', () => {
    const { usernsName, files } = listImages(folder);
    expect(usernsName).toBe('userns-7.img');
    expect(files.map(({ name }) => name).sort()).toEqual(names);
    for (const { name, sizeBytes, modifiedNs } of files) {
      expect(sizeBytes).toBe(contents[name as keyof typeof contents].length);
      expect(modifiedNs).toBe(String(BigInt(writtenAt.getTime()) * 1_000_000n));
    }
  });

  it('can be read by the owners of copies from then on, and the one of the user ids cannot', () => {
    listImages(folder);
    const modes = readdirSync(folder).map((name) => [name, statSync(join(folder, name)).mode & 0o777]);
    expect(Object.fromEntries(modes)).toEqual({
      ...Object.fromEntries(names.map((name) => [name, 0o644])),
      ...{ 'userns-7.img': 0o600, 'dump.log': 0o600, 'stats-dump': 0o600 },
    });
  });

  it('have no image of user ids when a sentry wrote them', async () => {
    await rm(join(folder, 'userns-7.img'));
    expect(listImages(folder)).not.toHaveProperty('usernsName');
  });

  it('are those of CRIU when there is a liveness pipe and an image of user ids', () => {
    const [both, none] = [{ usernsName: 'userns-7.img', files: [] }, { files: [] }];
    const checkpoints: [Checkpoint, boolean][] = [
      [{ hostBootId: 'b', livenessPipeId: 'pipe:[1]', images: both }, true],
      [{ hostBootId: 'b', livenessPipeId: 'pipe:[1]', images: none }, false],
      [{ hostBootId: 'b', livenessPipeId: 'pipe:[1]' }, false],
      [{ hostBootId: 'b', images: both }, false],
      [{ hostBootId: 'b' }, false],
    ];
    for (const [checkpoint, isOfCriu] of checkpoints) expect(isCriuMemory(checkpoint)).toBe(isOfCriu);
  });

  it('tell the number of processes, and which of them contain memory', () => {
    expect(countProcesses(listImages(folder))).toBe(2);
    expect(names.filter(isPages)).toEqual(['pages-1.img']);
  });

  it('are shared by links, all but the one of the user ids', () => {
    const to = join(parent, 'copy');
    shareImages(listImages(folder), { from: folder, to });
    expect(readdirSync(to).sort()).toEqual(names);
    for (const name of names) expect(statSync(join(to, name)).ino).toBe(statSync(join(folder, name)).ino);
    expect(statSync(to).mode & 0o777).toBe(0o700);
  });

  it('move to another range of ids by one image, and root of that range may write to the folder', async () => {
    const baseId = process.getuid?.() === 0 ? 200_000 : (process.getuid?.() ?? 0);
    const images = await keepImages(folder);
    await moveImages(folder, { usernsName: 'userns-7.img', baseId });
    const image = join(folder, 'userns-7.img');
    expect(readFileSync(image)).toEqual(Buffer.from(await createUserNamespaceImage(baseId)));
    for (const path of [folder, image]) expect(lstatSync(path).uid).toBe(baseId);
    await verifyImages(folder, images);
  });
});

describe('images that were kept', () => {
  let images: MemoryImages;
  beforeEach(async () => {
    images = await keepImages(folder);
  });
  const verify = (changed: Partial<MemoryImages> = {}): Promise<void> =>
    verifyImages(folder, { ...images, ...changed });

  it('have a code each, and are what they were', async () => {
    expect(images).toMatchObject(listImages(folder));
    expect(Object.keys(images.fingerprints?.macs ?? {}).sort()).toEqual(names);
    await verify();
    requireUntouched(folder, images);
  });

  it('are refused with another byte at the same size and time, whichever image it is in', async () => {
    for (const [name, text] of Object.entries(contents)) {
      await writeAt(name, text.length - 1, '!');
      await expect(verify()).rejects.toMatchObject(damaged(`${name} changed`));
      await writeAt(name, text.length - 1, text.slice(-1));
      await verify();
    }
  });

  it('are refused when two have changed places, and of equal images too the names count', async () => {
    const [one, other] = [join(folder, 'core-1.img'), join(folder, 'core-2.img')];
    await rename(one, join(folder, 'spare'));
    await rename(other, one);
    await rename(join(folder, 'spare'), other);
    await expect(verify()).rejects.toMatchObject(damaged('changed'));
    for (const path of [one, other]) await writeFile(path, 'equal');
    const { fingerprints } = await keepImages(folder);
    expect(fingerprints?.macs['core-1.img']).not.toBe(fingerprints?.macs['core-2.img']);
  });

  it('are refused when one is cut off, missing, or of another size than was recorded', async () => {
    const files = images.files.map((file) => ({ ...file, sizeBytes: file.sizeBytes + 1 }));
    await expect(verify({ files })).rejects.toMatchObject(damaged('changed'));
    await truncate(join(folder, 'pages-1.img'), 100);
    await expect(verify()).rejects.toMatchObject(damaged('pages-1.img changed'));
    await rm(join(folder, 'pages-1.img'));
    await expect(verify()).rejects.toMatchObject(damaged('pages-1.img cannot be read'));
  });

  it('are refused when nothing is known of their content', async () => {
    const { fingerprints: _none, ...listed } = images;
    await expect(verifyImages(folder, listed)).rejects.toMatchObject(damaged('never kept'));
  });
});

describe('a stat of images that were verified', () => {
  let images: MemoryImages;
  beforeEach(() => {
    images = listImages(folder);
  });
  const refusal = (): unknown => thrownBy(() => requireUntouched(folder, images));

  it('accepts them as long as none is touched', () => {
    expect(refusal()).toBeUndefined();
  });

  it('refuses another size at the same time, and another time at the same size', async () => {
    await writeAt('core-2.img', contents['core-2.img'].length, '!');
    expect(refusal()).toMatchObject(damaged('core-2.img changed'));
    await truncate(join(folder, 'core-2.img'), contents['core-2.img'].length);
    await utimes(join(folder, 'core-2.img'), writtenAt, new Date(writtenAt.getTime() + 1));
    expect(refusal()).toMatchObject(damaged('core-2.img changed'));
  });

  it('refuses a missing image', async () => {
    await rm(join(folder, 'inventory.img'));
    expect(refusal()).toMatchObject(damaged('inventory.img is missing'));
  });
});
