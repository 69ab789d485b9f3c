import { checkHost } from '@skerry/runtime';
import { UserError } from '../user-error.ts';
import { currentRootlessState } from './current-rootless-state.ts';

/**
 * Throws the obstacle and its remedy on a host whose own description shows that it cannot run sandboxes.
 * Tries and changes nothing.
 */
export function refuseHost(options: Pick<Parameters<typeof checkHost>[0], 'facts'> = {}): void {
  const rootless = process.getuid?.() !== 0 || currentRootlessState() !== undefined;
  const refusal = checkHost({ rootless, ...options }).find(({ ok, needed }) => needed && !ok);
  if (refusal) throw new UserError(`${refusal.found} (fix: ${refusal.mend})`);
}
