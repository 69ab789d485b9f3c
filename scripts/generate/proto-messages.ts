import { spawnSync } from 'node:child_process';
import { join, resolve } from 'node:path';
import type { ImportExtension } from './openapi-types.ts';

export interface ProtoMessagesOptions {
  /** The folder of the .proto files; its buf.yaml applies. */
  protos: string;
  /** Where the TypeScript is written, one file for each of them. */
  folder: string;
  importExtension: ImportExtension;
  /** The folder of the programs buf and protoc-gen-es. */
  programs: string;
}

/** A service of a folder of .proto files. */
export interface ProtoService {
  name: string;
  /** The file that declares it, below the folder. */
  proto: string;
}

/** Writes the messages and services of a folder of .proto files as TypeScript. Throws with what buf reports. */
export function writeProtoMessages(options: ProtoMessagesOptions): void {
  const { protos, folder, importExtension, programs } = options;
  const plugin = {
    local: [join(programs, 'protoc-gen-es')],
    out: resolve(folder),
    opt: ['target=ts', `import_extension=${importExtension}`, 'erasable_syntax=true'],
  };
  const template = JSON.stringify({ version: 'v2', plugins: [plugin] });
  runBuf(['generate', '--template', template], { protos, programs });
}

/** The services of a folder of .proto files, in the order of their files. Throws with what buf reports. */
export function listProtoServices(
  options: Pick<ProtoMessagesOptions, 'protos' | 'programs'>,
): ProtoService[] {
  const image = JSON.parse(runBuf(['build', '--exclude-imports', '--output', '-#format=json'], options)) as {
    file: { name: string; service?: { name: string }[] }[];
  };
  return image.file.flatMap(({ name: proto, service = [] }) => service.map(({ name }) => ({ name, proto })));
}

function runBuf(
  argv: string[],
  { protos, programs }: Pick<ProtoMessagesOptions, 'protos' | 'programs'>,
): string {
  const { status, stdout, stderr, error } = spawnSync(join(programs, 'buf'), argv, {
    cwd: resolve(protos),
    encoding: 'utf8',
    maxBuffer: 64 << 20,
  });
  if (status !== 0) throw new Error(error?.message ?? stderr);
  return stdout;
}
