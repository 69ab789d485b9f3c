import { unimplemented } from '@skerry/contract/error';
import type { Instance } from '@skerry/runtime';
import type { Host } from '../../hosts/hosts.ts';

/** Keeps the image of that name that a runtime writes to a path of its host. Rejects with `unimplemented` where no images are kept. */
export const keepImage = async (
  { images }: Pick<Host, 'images'>,
  name: string,
  write: (path: string) => ReturnType<Instance['exportImage']>,
): ReturnType<Instance['exportImage']> => {
  if (images === undefined) throw unimplemented('the runtime of this server cannot build templates');
  const file = images.toUnfinished(name);
  const made = await write(file);
  await images.keep({ file, digest: made.digest });
  return made;
};
