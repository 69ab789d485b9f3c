import { parseSparse, type SparseFile, sparseName } from '@skerry/contract/sparse-file';
import type { Header } from 'tar-stream';
import { ImageError } from '../../image-error.ts';
import { attributePrefix } from './workarounds/layer-parser.ts';

interface EntryBase {
  /** Relative to the root of the image, without `..`; may still pass through links. Empty for the root itself. */
  name: string;
  mode: number;
  uid: number;
  gid: number;
  modifiedAtSeconds: number;
  /** What it takes in the archive or in the image, whichever is more. */
  sizeBytes: number;
  /** Only names that a layer may set. */
  attributes: ReadonlyMap<string, Buffer>;
}

export type TarEntry = EntryBase &
  (
    | { kind: 'file'; sparse?: SparseFile }
    | { kind: 'directory' }
    | { kind: 'symlink' | 'link'; target: string }
    /** Removes what lower layers have at `name`, or below it when opaque. */
    | { kind: 'whiteout' | 'opaque' }
    /** Devices and pipes, which the runtime provides, and the records of other layering tools. */
    | { kind: 'ignored' }
  );

// OCI image specification, layer.md, "Whiteouts".
const whiteoutPrefix = '.wh.';
const opaqueMarker = '.wh..wh..opq';
/** One less than the "unchanged" of chown(2). */
export const maxId = 2 ** 32 - 2;
/** XATTR_NAME_MAX and XATTR_SIZE_MAX of linux/limits.h. */
const maxAttributeNameLength = 255;
const maxAttributeBytes = 64 << 10;
/**
 * Not `user.overlay.*` or `trusted.*`: with those a layer could control the overlay that it becomes part of. Not other ones of `security`,
 * which are about the policy of a host, and no access control lists, which would change what later layers make in a folder.
 */
const allowedAttribute = /^(?:user\.(?!overlay\.)|security\.capability$)/;

/** What the parser has in place of bytes that are not UTF-8. A name that has this character itself is refused with the others. */
const replacement = '\ufffd';

/**
 * Parses one header of `createLayerParser`. Throws `unsafe` for a name that leaves the root, `corrupt` for an entry that no
 * layer may contain, or whose name or target is not UTF-8. Fields of a pax header take precedence over the old fixed ones;
 * the parser applies only those for name, link and size.
 */
export function parseEntry(header: Header): TarEntry {
  const pax = (header.pax ?? {}) as Record<string, string>;
  const name = sparseName(pax) ?? header.name;
  requireText(name);
  const sparse = parseSparse(pax, name);
  if (header.linkname) requireText(header.linkname);
  const parts = toParts(name);
  const base: EntryBase = {
    name: parts.join('/'),
    mode: header.mode & 0o7777,
    uid: parseNumber(pax.uid ?? header.uid, { name: header.name, max: maxId }),
    gid: parseNumber(pax.gid ?? header.gid, { name: header.name, max: maxId }),
    modifiedAtSeconds: parseTime(pax.mtime) ?? header.mtime.getTime() / 1000,
    sizeBytes: Math.max(
      parseNumber(header.size, { name: header.name, max: Number.MAX_SAFE_INTEGER }),
      sparse?.sizeBytes ?? 0,
    ),
    attributes: parseAttributes(pax, header.name),
  };
  const last = parts.at(-1) ?? '';
  if (last.startsWith(whiteoutPrefix)) return toWhiteout(base, parts.slice(0, -1), last);
  switch (header.type) {
    case 'file':
    case 'contiguous-file':
      return { ...base, kind: 'file', ...(sparse && { sparse }) };
    case 'directory':
      return { ...base, kind: 'directory' };
    case 'symlink':
    case 'link':
      if (!header.linkname || header.linkname.includes('\0'))
        throw new ImageError('corrupt', `${header.name} links to nothing`);
      if (header.type === 'symlink') return { ...base, kind: 'symlink', target: header.linkname };
      return { ...base, kind: 'link', target: toParts(header.linkname).join('/') };
    case 'character-device':
    case 'block-device':
    case 'fifo':
      return { ...base, kind: 'ignored' };
    default:
      throw new ImageError('corrupt', `${header.name} is of a kind that layers must not use`);
  }
}

function toWhiteout(base: EntryBase, parents: string[], last: string): TarEntry {
  if (last === opaqueMarker) return { ...base, name: parents.join('/'), kind: 'opaque' };
  if (last.startsWith('.wh..wh.')) return { ...base, kind: 'ignored' };
  const hidden = last.slice(whiteoutPrefix.length);
  if (hidden === '' || hidden === '.' || hidden === '..')
    throw new ImageError('unsafe', `${base.name} would remove a folder from inside`);
  return { ...base, name: [...parents, hidden].join('/'), kind: 'whiteout' };
}

/** The file would get another name. */
function requireText(name: string): void {
  if (!name.includes(replacement)) return;
  const shown = JSON.stringify(name.slice(0, 200)).replaceAll(replacement, '\\ufffd');
  throw new ImageError('corrupt', `a layer has the name ${shown}, which is not UTF-8`);
}

/** An absolute name is resolved from the root of the image, as by every container tool. */
function toParts(name: string): string[] {
  const parts = name.split('/').filter((part) => part !== '' && part !== '.');
  if (parts.includes('..') || name.includes('\0'))
    throw new ImageError('unsafe', `a layer has an entry named ${JSON.stringify(name.slice(0, 200))}`);
  return parts;
}

function parseNumber(
  value: string | number | undefined,
  { name, max }: { name: string; max: number },
): number {
  const number = Number(value ?? 0);
  if (Number.isSafeInteger(number) && number >= 0 && number <= max) return number;
  throw new ImageError('corrupt', `${name} has a number out of range`);
}

function parseTime(value: string | undefined): number | undefined {
  const seconds = Number(value);
  return value !== undefined && Number.isFinite(seconds) ? seconds : undefined;
}

function parseAttributes(pax: Record<string, string>, name: string): Map<string, Buffer> {
  const attributes = Object.entries(pax)
    .filter(([key]) => key.startsWith(attributePrefix))
    .map(([key, value]): [string, Buffer] => [
      key.slice(attributePrefix.length),
      Buffer.from(value, 'latin1'),
    ])
    .filter(([key]) => allowedAttribute.test(key) && !/[\n=\\\ufffd]/.test(key));
  if (
    attributes.some(([key, value]) => key.length > maxAttributeNameLength || value.length > maxAttributeBytes)
  )
    throw new ImageError('corrupt', `${name.slice(0, 200)} has an attribute that no file can have`);
  return new Map(attributes);
}
