import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { UserError } from '@skerry/server/user-error';

/** What Docker's `config.json` says about registries. */
export interface DockerConfig {
  path: string;
  /** Accounts by registry, as Docker wrote it: `host[:port]`, or a URL. */
  auths: Readonly<Record<string, DockerAuth>>;
  /** The names of credential helpers, by registry. */
  credHelpers: Readonly<Record<string, string>>;
  /** The helper for all other registries. */
  credsStore: string | undefined;
}

export interface DockerAuth {
  /** Base64 of `user:password`. */
  auth?: string;
  username?: string;
  password?: string;
  identitytoken?: string;
  registrytoken?: string;
}

const authFields = ['auth', 'username', 'password', 'identitytoken', 'registrytoken'] as const;

/**
 * Reads `config.json` of the folder `DOCKER_CONFIG`, by default `.docker` in the home. Undefined without such a file. Throws
 * UserError, which shows nothing of the content, for one that cannot be read.
 */
export function readDockerConfig({
  env,
  home,
}: {
  env: NodeJS.ProcessEnv;
  home: string;
}): DockerConfig | undefined {
  const path = join(env.DOCKER_CONFIG || join(home, '.docker'), 'config.json');
  const content = readOptional(path);
  if (content === undefined) return undefined;
  const document = parseObject(content);
  const { auths = {}, credHelpers = {}, credsStore } = document ?? {};
  const isUsable =
    document !== undefined &&
    isRecordOf(auths, isAuth) &&
    isRecordOf(credHelpers, isText) &&
    (credsStore === undefined || isText(credsStore));
  if (!isUsable) throw new UserError(`${path} is no configuration of Docker`);
  return { path, auths, credHelpers, credsStore: credsStore || undefined };
}

function readOptional(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new UserError(`${path} cannot be read: ${code}`);
  }
}

/** Undefined for what is no object in JSON: the error of the parser would show a part of the text. */
export function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

const isText = (value: unknown): value is string => typeof value === 'string';
const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isAuth = (value: unknown): value is DockerAuth =>
  isRecord(value) && authFields.every((field) => value[field] === undefined || isText(value[field]));
const isRecordOf = <T>(
  value: unknown,
  isMember: (member: unknown) => member is T,
): value is Record<string, T> => isRecord(value) && Object.values(value).every(isMember);
