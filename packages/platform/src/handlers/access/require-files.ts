import type { Inspected } from '../../sandboxes/inspector.ts';
import { isAlive } from '../../sandboxes/visible-state.ts';
import type { Store } from '../../store/store.ts';
import { type Lookup, requireTemplateState } from '../templates/find-template.ts';

export type OwnLookup = Lookup & { store: Pick<Store, 'findOwnSandbox'> };

/**
 * Returns the files that a field names: those of a sandbox of the caller, or of a state of a template that it may use. Rejects with
 * `invalid_argument` or `not_found`.
 */
export const requireFiles = async (lookup: OwnLookup, text: string, field: string): Promise<Inspected> => {
  const sandbox = await lookup.store.findOwnSandbox(text, lookup.scope);
  if (sandbox !== undefined && isAlive(sandbox.state)) return { sandbox };
  return requireTemplateState(lookup, text, field);
};
