import { checkHost } from '@skerry/runtime';
import { CliError } from './cli-error.ts';
import { currentGround } from './current-ground.ts';

/**
 * Throws what is in the way, and the line that mends it, on a host that cannot run sandboxes by what it says of itself.
 * Tries and changes nothing.
 */
export function refuseHost(options: Pick<Parameters<typeof checkHost>[0], 'facts'> = {}): void {
  const rootless = process.getuid?.() !== 0 || currentGround() !== undefined;
  const refusal = checkHost({ rootless, ...options }).find(({ ok, needed }) => needed && !ok);
  if (refusal) throw new CliError(`${refusal.found} (mend: ${refusal.mend})`);
}
