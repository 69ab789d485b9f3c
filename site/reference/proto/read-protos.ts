import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { createFileRegistry, type DescFile, fromBinary } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';

const buf = join(import.meta.dirname, '../../node_modules/.bin/buf');

/** The files of a folder of .proto files, with their comments. Throws with what buf reports. */
export function readProtos(folder: string): DescFile[] {
  const argv = ['build', '--output', '-#format=binpb'];
  const { status, stdout, stderr, error } = spawnSync(buf, argv, { cwd: folder, maxBuffer: 64 << 20 });
  if (status !== 0) throw new Error(error?.message ?? stderr.toString());
  const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, stdout));
  return [...registry.files].filter(({ proto }) => !proto.package.startsWith('google.'));
}
