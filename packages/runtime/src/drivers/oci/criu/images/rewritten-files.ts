import { clearField } from '@bufbuild/protobuf';
import { type RegularFile, RegularFileSchema } from '../../../../gen/criu/images/images_pb.ts';

const { size, mode } = RegularFileSchema.field;

/**
 * Takes the sizes and modes of those open files away that a copy writes anew, see `nameCopy`: CRIU opens
 * no file that has others than the images say. Returns whether there were any.
 */
export const allowRewriting = (files: readonly RegularFile[]): boolean => {
  const found = files.filter(({ name }) => rewritten.some((path) => path.equals(name)));
  for (const file of found) {
    clearField(file, size);
    clearField(file, mode);
  }
  return found.length > 0;
};

const rewritten = ['/etc/hostname', '/etc/hosts'].map((path) => Buffer.from(path));
