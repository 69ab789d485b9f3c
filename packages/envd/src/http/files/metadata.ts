import type { IncomingHttpHeaders } from 'node:http';
import { invalid } from '@skerry/contract/error';
import {
  getAttribute,
  isWithoutAttributes,
  listAttributes,
  removeAttribute,
  setAttribute,
} from '../../system/xattr.ts';

/** Key-value pairs that a caller attached to a file: lower-case keys, printable ASCII values. */
export type FileMetadata = Readonly<Record<string, string>>;

const HEADER_PREFIX = 'x-metadata-';
const ATTRIBUTE_PREFIX = 'user.e2b.';
/** The kernel allows names of 255 bytes (xattr(7)). */
const MAX_KEY_BYTES = 255 - ATTRIBUTE_PREFIX.length;
const MAX_TOTAL_BYTES = 4096;

/** Reads the `X-Metadata-*` headers of an upload. Throws `invalid_argument`. */
export const parseMetadata = (headers: IncomingHttpHeaders): FileMetadata => {
  const metadata: [string, string][] = [];
  let totalBytes = 0;
  for (const [name, value] of Object.entries(headers)) {
    if (!name.startsWith(HEADER_PREFIX)) continue;
    const key = name.slice(HEADER_PREFIX.length);
    const text = String(value);
    if (key === '' || key.length > MAX_KEY_BYTES) {
      throw invalid(`header ${name}: the metadata key must have 1 to ${MAX_KEY_BYTES} bytes`);
    }
    // JSON decoders, those of clients too, lose this key or reject the object that holds it.
    if (key === '__proto__') throw invalid(`header ${name}: the metadata key must not be __proto__`);
    if (!/^[\x20-\x7e]*$/.test(text)) throw invalid(`header ${name} must be printable ASCII`);
    totalBytes += key.length + text.length;
    metadata.push([key, text]);
  }
  if (totalBytes > MAX_TOTAL_BYTES)
    throw invalid(`metadata must have at most ${MAX_TOTAL_BYTES} bytes in total`);
  return Object.fromEntries(metadata);
};

/** Reads the metadata of an open file or, without following links, of a path. Empty where the file system does not support it. */
export const readMetadata = (target: number | string): FileMetadata => {
  const metadata: [string, string][] = [];
  try {
    for (const name of listAttributes(target)) {
      if (!name.startsWith(ATTRIBUTE_PREFIX)) continue;
      const value = getAttribute(target, name);
      if (value !== undefined) metadata.push([name.slice(ATTRIBUTE_PREFIX.length), value]);
    }
  } catch (error) {
    if (!isWithoutAttributes(error)) throw error;
  }
  return Object.fromEntries(metadata);
};

/** Replaces all metadata of an open file and returns what is stored: nothing where the file system does not support it. */
export const replaceMetadata = (fd: number, metadata: FileMetadata): FileMetadata => {
  try {
    for (const name of listAttributes(fd)) {
      const isKept = Object.hasOwn(metadata, name.slice(ATTRIBUTE_PREFIX.length));
      if (name.startsWith(ATTRIBUTE_PREFIX) && !isKept) removeAttribute(fd, name);
    }
    for (const [key, value] of Object.entries(metadata)) setAttribute(fd, `${ATTRIBUTE_PREFIX}${key}`, value);
    return metadata;
  } catch (error) {
    if (isWithoutAttributes(error)) return {};
    throw error;
  }
};
