import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import type { RegistryCredentials } from '@skerry/sdk/template';
import { UserError } from '@skerry/server/user-error';
import { parseObject } from './docker-config.ts';

/** What helpers print on stdout, with status 1, for a registry that they do not know. */
const NOT_FOUND = 'credentials not found in native keychain';
/** In place of a user, with a token for an OAuth exchange as the secret. */
const TOKEN_USER = '<token>';

/**
 * Asks `docker-credential-NAME get` on PATH for a registry. Undefined when the helper has none. Rejects with UserError, which shows
 * nothing of what the helper prints: that may be a secret.
 */
export async function askCredentialHelper(
  name: string,
  { registry, env }: { registry: string; env: NodeJS.ProcessEnv },
): Promise<RegistryCredentials | undefined> {
  const program = `docker-credential-${name}`;
  if (!/^[A-Za-z0-9._-]+$/.test(name)) throw new UserError(`"${name}" is no name of a credential helper`);
  const { output, status } = await run(program, { input: `${registry}\n`, env });
  if (status !== 0) {
    if (output.trim() === NOT_FOUND) return undefined;
    throw new UserError(`${program} failed for ${registry} with status ${status}`);
  }
  const { Username: username, Secret: password } = parseObject(output) ?? {};
  if (typeof username !== 'string' || typeof password !== 'string')
    throw new UserError(`${program} printed no user name and secret for ${registry}`);
  if (username === TOKEN_USER)
    throw new UserError(
      `${program} has an identity token for ${registry}, which cannot be used: log in by password`,
    );
  return username === '' && password === '' ? undefined : { username, password };
}

async function run(
  program: string,
  { input, env }: { input: string; env: NodeJS.ProcessEnv },
): Promise<{ output: string; status: number | string }> {
  const child = spawn(program, ['get'], { stdio: ['pipe', 'pipe', 'ignore'], env });
  // One that reads no input has decided without it.
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  try {
    const [output, [code, signal]] = await Promise.all([text(child.stdout), once(child, 'close')]);
    return { output, status: (code as number | null) ?? String(signal) };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new UserError(
      code === 'ENOENT'
        ? `${program} is not on PATH, and the configuration of Docker names it for this registry: ${input.trim()}`
        : `${program} cannot be started: ${code}`,
    );
  }
}
