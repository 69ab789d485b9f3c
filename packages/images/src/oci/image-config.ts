import { ImageError } from '../image-error.ts';

/** What the author of an image wants for its processes. */
export interface ImageConfig {
  /** Environment variables. */
  env: Record<string, string>;
}

const namePattern = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** All variables together: they become part of every start. */
const maxEnvBytes = 64 << 10;

/**
 * Parses the config of the OCI image specification, config.md. Variables whose names no shell accepts are left out.
 * Throws `corrupt` for an invalid format and `too_large`.
 */
export function parseImageConfig(bytes: Buffer): ImageConfig {
  const lines = readEnv(parseJson(bytes));
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
  return { env: Object.fromEntries(env) };
}

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch (cause) {
    throw new ImageError('corrupt', 'the config of the image is no JSON', { cause });
  }
}

function readEnv(document: unknown): string[] {
  const { config } = (document ?? {}) as { config?: unknown };
  const { Env: env } = (config ?? {}) as { Env?: unknown };
  if (env === undefined || env === null) return [];
  if (Array.isArray(env) && env.every((line) => typeof line === 'string')) return env;
  throw new ImageError('corrupt', 'the config of the image has variables of another form');
}
