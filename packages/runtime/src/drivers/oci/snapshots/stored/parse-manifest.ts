import { isolationLevels } from '@skerry/contract/isolation';
import { RuntimeError } from '../../../../error.ts';
import { toSlot } from '../../../../network/slots.ts';
import { isInstanceId } from '../../../instance-spec.ts';
import type { CompatibilityClass } from '../../compatibility/compatibility-class.ts';
import {
  PART_BYTES,
  type StoredFile,
  type StoredManifest,
  type StoredMemory,
  type StoredPart,
} from './stored-manifest.ts';

type Untrusted = Record<string, unknown>;

/**
 * Reads the manifest of a snapshot from a store, of which nothing is trusted: names become names of files here, and
 * values options of programs. Throws `damaged` with what cannot be true.
 */
export const parseStoredManifest = (text: string): StoredManifest => {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new RuntimeError('damaged', 'the manifest is not JSON', { cause: error });
  }
  const { version, snapshot, contents, templateDigest, disk, list, memory } = toObject(value, 'the manifest');
  require(version === 1, `it has the version ${String(version)}`);
  const found = toObject(contents, 'contents');
  const level =
    found.level === undefined ? undefined : requireValue(found.level, found.level === 'gvisor', 'level');
  const parsedDisk = parseFile(disk, 'disk');
  const diskBytes = toCount(found.diskBytes, 'diskBytes');
  // A file system has whole blocks.
  const isWhole = Math.ceil(diskBytes / BLOCK_BYTES) * BLOCK_BYTES === parsedDisk.sizeBytes;
  require(isWhole, `its disk has ${parsedDisk.sizeBytes} bytes and not ${diskBytes}`);
  return {
    version: 1,
    snapshot: toId(snapshot, 'snapshot'),
    contents: {
      sandbox: toId(found.sandbox, 'sandbox'),
      ...(found.parent !== undefined && { parent: toId(found.parent, 'parent') }),
      diskBaseId: toBaseId(found.diskBaseId),
      diskBytes,
      ...(level !== undefined && { level: 'gvisor' }),
    },
    templateDigest: toText(templateDigest, digestPattern, 'templateDigest'),
    disk: { ...parsedDisk, sha256: toSha256(toObject(disk, 'disk').sha256) },
    ...(list !== undefined && {
      list: {
        ...parseFile(list, 'list'),
        sha256: toSha256(toObject(list, 'list').sha256),
        entryCount: toCount(toObject(list, 'list').entryCount, 'entryCount'),
      },
    }),
    ...(memory !== undefined && { memory: parseMemory(memory) }),
  };
};

const parseMemory = (value: unknown): StoredMemory => {
  const { class: made, checkpoint, usernsName, fingerprints, files } = toObject(value, 'memory');
  const { livenessPipeId, bootId, needsNetwork, hostBootId } = toObject(checkpoint, 'checkpoint');
  const { key, macs } = toObject(fingerprints, 'fingerprints');
  const parsed = toArray(files, 'files').map((file) => ({
    name: toText(toObject(file, 'file').name, imagePattern, 'name of a memory image'),
    ...parseFile(file, 'a memory image'),
  }));
  const names = parsed.map(({ name }) => name);
  require(new Set(names).size === names.length, 'two memory images have one name');
  const macOf = toObject(macs, 'macs');
  return {
    class: parseClass(made),
    checkpoint: {
      hostBootId: toText(hostBootId, bootIdPattern, 'hostBootId'),
      ...(livenessPipeId !== undefined && {
        livenessPipeId: toText(livenessPipeId, /^file\[[0-9a-f]+:[0-9a-f]+\]$/, 'livenessPipeId'),
      }),
      ...(bootId !== undefined && { bootId: toText(bootId, bootIdPattern, 'bootId') }),
      ...(needsNetwork !== undefined && { needsNetwork: toBoolean(needsNetwork, 'needsNetwork') }),
    },
    ...(usernsName !== undefined && { usernsName: toText(usernsName, /^userns-\d+\.img$/, 'usernsName') }),
    fingerprints: {
      key: toText(key, /^[0-9a-f]{32}$/, 'key of the fingerprints'),
      macs: Object.fromEntries(names.map((name) => [name, toText(macOf[name], /^[0-9a-f]{32}$/, 'mac')])),
    },
    files: parsed,
  };
};

const parseClass = (value: unknown): CompatibilityClass => {
  const found = toObject(value, 'class');
  const text = (name: string): string => toText(found[name], /^[ -~]{1,200}$/, name);
  const { level, cgroupVersion } = found;
  return {
    cpuVendor: text('cpuVendor'),
    cpuFamily: text('cpuFamily'),
    cpuModel: text('cpuModel'),
    cpuFlags: toArray(found.cpuFlags, 'cpuFlags').map((flag) => toText(flag, /^[!-~]{1,100}$/, 'flag')),
    kernelRelease: text('kernelRelease'),
    checkpointer: text('checkpointer'),
    cgroupVersion: requireValue(
      cgroupVersion as CompatibilityClass['cgroupVersion'],
      cgroupVersion === '1' || cgroupVersion === '2' || cgroupVersion === 'hybrid',
      'cgroupVersion',
    ),
    level: requireValue(
      level as CompatibilityClass['level'],
      isolationLevels.some((one) => one === level),
      'level',
    ),
    templateDigest: toText(found.templateDigest, digestPattern, 'templateDigest'),
    agentDigest: toText(found.agentDigest, digestPattern, 'agentDigest'),
  };
};

const parseFile = (value: unknown, what: string): StoredFile => {
  const { sizeBytes, parts } = toObject(value, what);
  const size = toCount(sizeBytes, `size of ${what}`);
  let next = 0;
  const parsed = toArray(parts, `parts of ${what}`).map((entry): StoredPart => {
    const part = toObject(entry, 'part');
    const found = {
      offset: toCount(part.offset, 'offset'),
      sizeBytes: toCount(part.sizeBytes, 'size of a part'),
      sha256: toSha256(part.sha256),
      storedBytes: toCount(part.storedBytes, 'stored size'),
    };
    require(found.offset >= next, `the parts of ${what} overlap`);
    next = found.offset + found.sizeBytes;
    require(found.sizeBytes >= 1 &&
      found.sizeBytes <= PART_BYTES, `a part of ${what} has ${found.sizeBytes} bytes`);
    // Random bytes become a little longer.
    require(found.storedBytes <=
      found.sizeBytes + MAX_OVERHEAD_BYTES, `a part of ${what} is larger than its content`);
    require(next <= size, `the parts of ${what} have more than ${size} bytes`);
    return found;
  });
  return { sizeBytes: size, parts: parsed };
};

const BLOCK_BYTES = 4096;
const MAX_OVERHEAD_BYTES = 65_536;
const imagePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}\.img$/;
const digestPattern = /^sha256:[0-9a-f]{64}$/;
// The file of the kernel ends with a line break.
const bootIdPattern = /^[0-9a-f-]{36}\n?$/;

const require = (holds: boolean, what: string): void => {
  if (!holds) throw new RuntimeError('damaged', `the manifest of a stored snapshot cannot be true: ${what}`);
};

const requireValue = <T>(value: T, isValid: boolean, name: string): T => {
  require(isValid, `${name} is ${JSON.stringify(value)?.slice(0, 100)}`);
  return value;
};

const toObject = (value: unknown, name: string): Untrusted =>
  requireValue(
    value as Untrusted,
    typeof value === 'object' && value !== null && !Array.isArray(value),
    name,
  );

const toArray = (value: unknown, name: string): unknown[] =>
  requireValue(value as unknown[], Array.isArray(value), name);

const toText = (value: unknown, pattern: RegExp, name: string): string =>
  requireValue(value as string, typeof value === 'string' && pattern.test(value), name);

const toSha256 = (value: unknown): string => toText(value, /^[0-9a-f]{64}$/, 'sha256');

const toId = (value: unknown, name: string): string =>
  requireValue(value as string, typeof value === 'string' && isInstanceId(value), name);

const toCount = (value: unknown, name: string): number =>
  requireValue(value as number, Number.isSafeInteger(value) && (value as number) >= 0, name);

const toBoolean = (value: unknown, name: string): boolean =>
  requireValue(value as boolean, typeof value === 'boolean', name);

/** Of a slot: any other would shift the owners of files elsewhere. */
const toBaseId = (value: unknown): number => {
  const baseId = toCount(value, 'diskBaseId');
  try {
    toSlot(baseId);
  } catch (error) {
    throw new RuntimeError('damaged', `no sandbox has the owner ${baseId}`, { cause: error });
  }
  return baseId;
};
