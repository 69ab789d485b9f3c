import { isDefaultImage } from '@skerry/contract/default-image';
import { isEmptyImage, parseReference } from '@skerry/images/reference';
import type { RegistryCredentials } from '@skerry/sdk/template';
import { UserError } from '@skerry/server/user-error';
import { askCredentialHelper } from './credential-helper.ts';
import { type DockerAuth, readDockerConfig } from './docker-config.ts';

/** How Docker spells its own registry. */
const HUB = 'https://index.docker.io/v1/';

/**
 * The credentials that Docker on this host would use for an image: of a credential helper, and where the configuration names
 * none for the registry, those in `auths`. Undefined without any. Rejects with UserError, which shows no secret.
 */
export async function findDockerCredentials(
  image: string,
  { env, home }: { env: NodeJS.ProcessEnv; home: string },
): Promise<RegistryCredentials | undefined> {
  const registry = toRegistry(image);
  const config = registry === undefined ? undefined : readDockerConfig({ env, home });
  if (registry === undefined || config === undefined) return undefined;
  const { auths, credHelpers, credsStore } = config;
  const helper = findEntry(credHelpers, registry) ?? credsStore;
  if (helper !== undefined) return askCredentialHelper(helper, { registry, env });
  const auth = findEntry(auths, registry);
  return auth && toCredentials(auth, `${config.path}, for ${registry},`);
}

/** Undefined for what is not pulled, and for what is no image: the service refuses it. */
function toRegistry(image: string): string | undefined {
  if (isEmptyImage(image) || isDefaultImage(image)) return undefined;
  try {
    const { host } = new URL(parseReference(image).baseUrl);
    return host === 'registry-1.docker.io' ? HUB : host;
  } catch {
    return undefined;
  }
}

/** Finds the entry of the registry, or of a URL of its host, such as `https://ghcr.io/v2/`. */
function findEntry<T>(entries: Readonly<Record<string, T>>, registry: string): T | undefined {
  if (Object.hasOwn(entries, registry)) return entries[registry];
  const found = Object.keys(entries).find((name) => toHost(name) === toHost(registry));
  return found === undefined ? undefined : entries[found];
}

const toHost = (name: string): string => {
  const host = name.replace(/^https?:\/\//, '').replace(/\/.*$/, '');
  return ['docker.io', 'registry-1.docker.io'].includes(host) ? 'index.docker.io' : host;
};

function toCredentials(entry: DockerAuth, where: string): RegistryCredentials | undefined {
  const { auth, username, password, identitytoken, registrytoken } = entry;
  if (identitytoken || registrytoken)
    throw new UserError(`${where} has a token that cannot be used: log in by password`);
  if (auth) {
    const decoded = Buffer.from(auth, 'base64').toString('utf8');
    const colon = decoded.indexOf(':');
    if (colon < 1) throw new UserError(`${where} has an "auth" that is no user name with a password`);
    return { username: decoded.slice(0, colon), password: decoded.slice(colon + 1).replace(/\0+$/, '') };
  }
  return username && password ? { username, password } : undefined;
}
