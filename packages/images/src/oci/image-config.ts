import { posix } from 'node:path';
import { ImageError } from '../image-error.ts';

/** What the author of an image wants for its processes. */
export interface ImageConfig {
  /** Environment variables. */
  env: Record<string, string>;
  /** A name or a number, optionally with `:` and a group. Empty: the image names none. */
  user: string;
  /** Absolute. Empty: the image names none. */
  workdir: string;
  /** The words of its command, which begin with those of the entry point. */
  entrypoint: string[];
  command: string[];
  /** The words of the command that checks it; empty for none. */
  healthcheck: string[];
  /** Instructions for images that are built on it. */
  onbuild: string[];
  /** The TCP ports on which its command listens, each once. */
  exposedPorts: number[];
}

/** What an image without a config wants. */
export const emptyConfig = (): ImageConfig => ({
  env: {},
  user: '',
  workdir: '',
  entrypoint: [],
  command: [],
  healthcheck: [],
  onbuild: [],
  exposedPorts: [],
});

const namePattern = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** All variables together: they become part of every start. */
const maxEnvBytes = 64 << 10;
/** The longest path of the kernel, with its end. */
const maxTextLength = 4_095;
const MAX_PORT = 65_535;

/**
 * Parses the config of the OCI image specification, config.md, with the fields that Docker adds to it. Variables whose names no
 * shell accepts are left out, and so are ports of other protocols than TCP.
 * Throws `corrupt` for an invalid format and `too_large`.
 */
export function parseImageConfig(bytes: Buffer): ImageConfig {
  const { config } = (parseJson(bytes) ?? {}) as { config?: unknown };
  const { Env, User, WorkingDir, Entrypoint, Cmd, Shell, Healthcheck, OnBuild, ExposedPorts } = (config ??
    {}) as Record<string, unknown>;
  const lines = readList(Env, 'variables');
  const env = new Map<string, string>();
  let length = 0;
  for (const line of lines) {
    const equals = line.indexOf('=');
    const name = line.slice(0, equals);
    if (equals === -1 || !namePattern.test(name) || line.includes('\0')) continue;
    length += Buffer.byteLength(line);
    if (length > maxEnvBytes)
      throw new ImageError('too_large', 'the image sets more than 64 KiB of variables');
    env.set(name, line.slice(equals + 1));
  }
  const workdir = readText(WorkingDir, 'a folder');
  return {
    env: Object.fromEntries(env),
    user: readText(User, 'a user'),
    workdir: workdir === '' ? '' : posix.resolve('/', workdir),
    entrypoint: readList(Entrypoint, 'an entry point'),
    command: readList(Cmd, 'a command'),
    healthcheck: readHealthcheck(Healthcheck, readList(Shell, 'a shell')),
    onbuild: readList(OnBuild, 'instructions for others'),
    exposedPorts: readPorts(ExposedPorts),
  };
}

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch (cause) {
    throw new ImageError('corrupt', 'the config of the image is no JSON', { cause });
  }
}

function readList(list: unknown, what: string): string[] {
  if (list === undefined || list === null) return [];
  if (Array.isArray(list) && list.every((word) => typeof word === 'string')) return list;
  throw new ImageError('corrupt', `the config of the image has ${what} of another form`);
}

/** Reads a set whose members have the form `port`, `port/tcp`, `port/udp`, as the keys of an object. */
function readPorts(ports: unknown): number[] {
  if (ports === undefined || ports === null) return [];
  if (typeof ports !== 'object' || Array.isArray(ports))
    throw new ImageError('corrupt', 'the config of the image has exposed ports of another form');
  const numbers = Object.keys(ports)
    .flatMap((key) => /^(\d{1,5})(?:\/tcp)?$/i.exec(key)?.[1] ?? [])
    .map(Number);
  return [...new Set(numbers)].filter((port) => port >= 1 && port <= MAX_PORT);
}

/** Reads `Healthcheck.Test` of Docker's image specification v1.3. Intervals are not read. */
function readHealthcheck(check: unknown, shell: readonly string[]): string[] {
  const [kind, ...words] = readList((check as { Test?: unknown } | null | undefined)?.Test, 'a health check');
  if (kind === undefined || kind === 'NONE') return [];
  if (kind === 'CMD' && words.length > 0) return words;
  if (kind === 'CMD-SHELL' && words.length === 1)
    return [...(shell.length > 0 ? shell : ['/bin/sh', '-c']), ...words];
  throw new ImageError('corrupt', 'the config of the image has a health check of another form');
}

function readText(text: unknown, what: string): string {
  if (text === undefined || text === null) return '';
  if (typeof text === 'string' && text.length <= maxTextLength && !text.includes('\0')) return text;
  throw new ImageError('corrupt', `the config of the image has ${what} of another form`);
}
