import { fromJson, type JsonValue, toJson } from '@bufbuild/protobuf';
import { isolationLevels } from '@skerry/contract/isolation';
import { checkBounds } from '../../../../bounds/check-bounds.ts';
import { RuntimeError } from '../../../../error.ts';
import { ManifestSchema } from '../../../../gen/skerry/copies/v1/manifest_pb.ts';
import { toSlot } from '../../../../network/slots.ts';
import {
  type CopiedFile,
  type CopiedMemory,
  type CopyManifest,
  listCopiedFiles,
  PART_BYTES,
} from './copy-manifest.ts';

/**
 * Reads the manifest of a snapshot from a store, of which nothing is trusted: names become names of files here, and
 * values options of programs. Throws `damaged` with what cannot be true.
 */
export const parseCopyManifest = (text: string): CopyManifest => {
  const manifest = parseFields(text);
  const { version, contents, disk, memory } = manifest;
  require(version === 1, `it has the version ${String(version)}`);
  const { diskBytes, diskBaseId } = contents;
  // A file system has whole blocks.
  const isWhole = Math.ceil(diskBytes / BLOCK_BYTES) * BLOCK_BYTES === disk.sizeBytes;
  require(isWhole, `its disk has ${disk.sizeBytes} bytes and not ${diskBytes}`);
  requireBaseId(diskBaseId);
  for (const file of listCopiedFiles(manifest)) requireParts(file);
  if (memory !== undefined) requireMemory(memory);
  return manifest;
};

/** The fields with the bounds of their schema. */
const parseFields = (text: string): CopyManifest => {
  let value: JsonValue;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new RuntimeError('damaged', 'the manifest is not JSON', { cause: error });
  }
  try {
    const message = fromJson(ManifestSchema, value);
    checkBounds(ManifestSchema, message);
    // Plain data, in which no field is spelled in another way.
    return toJson(ManifestSchema, message, { alwaysEmitImplicit: true }) as unknown as CopyManifest;
  } catch (error) {
    throw cannotBeTrue((error as Error).message, { cause: error });
  }
};

const requireMemory = ({ class: { level }, fingerprints: { macs }, files }: CopiedMemory): void => {
  require(isolationLevels.includes(level), `level is ${JSON.stringify(level).slice(0, 100)}`);
  const names = new Set(files.map(({ name }) => name));
  require(names.size === files.length, 'two memory images have one name');
  for (const name of names) require(Object.hasOwn(macs, name), `the memory image ${name} has no fingerprint`);
};

const requireParts = ({ sizeBytes: size, parts }: CopiedFile): void => {
  let next = 0;
  for (const { offset, sizeBytes, storedBytes } of parts) {
    require(offset >= next, 'the parts of a file overlap');
    next = offset + sizeBytes;
    require(Number.isSafeInteger(sizeBytes) && sizeBytes <= PART_BYTES, `a part has ${sizeBytes} bytes`);
    // Random bytes become a little longer.
    require(storedBytes <= sizeBytes + MAX_OVERHEAD_BYTES, 'a part is larger than its content');
    require(next <= size, `the parts of a file have more than its ${size} bytes`);
  }
};

const BLOCK_BYTES = 4096;
const MAX_OVERHEAD_BYTES = 65_536;

const require = (holds: boolean, what: string): void => {
  if (!holds) throw cannotBeTrue(what);
};

const cannotBeTrue = (what: string, options?: { cause: unknown }): RuntimeError =>
  new RuntimeError('damaged', `the manifest of a stored snapshot cannot be true: ${what}`, options);

/** The owner of a slot: any other would shift the owners of files elsewhere. */
const requireBaseId = (baseId: number): void => {
  try {
    toSlot(baseId);
  } catch (error) {
    throw new RuntimeError('damaged', `no sandbox has the owner ${baseId}`, { cause: error });
  }
};
