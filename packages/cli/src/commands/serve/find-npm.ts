import { accessSync, constants } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import type { NpmClient } from '@skerry/images';

/** Where npm finds its settings, its registry and Node.js. Others, such as those of an `npm run`, would change what it does. */
const wanted =
  /^(?:HOME|PATH|(?:https?|no)_proxy|NODE_EXTRA_CA_CERTS|SSL_CERT_(?:DIR|FILE)|npm_config_(?:registry|userconfig|globalconfig|cafile|proxy|https_proxy|noproxy|strict_ssl))$/i;

/** Returns the first npm on the PATH of that environment, with the variables that it needs; undefined when there is none. */
export function findNpm(environment: NodeJS.ProcessEnv): NpmClient | undefined {
  const env = Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) =>
      value !== undefined && wanted.test(name) ? [[name, value]] : [],
    ),
  );
  for (const folder of (environment.PATH ?? '').split(':').filter(isAbsolute)) {
    const program = join(folder, 'npm');
    try {
      accessSync(program, constants.X_OK);
      return { program, env };
    } catch {
      // Not in this folder.
    }
  }
  return undefined;
}
