import { notFound } from '@skerry/contract/error';
import type { Scope } from '../../store/scope.ts';
import type { Store } from '../../store/store.ts';
import { parseSandboxId } from '../sandbox-id.ts';
import { type Lookup, requireTemplate, requireTemplateState } from '../templates/find-template.ts';

type OwnLookup = Lookup & { store: Pick<Store, 'findOwnSandbox'> };
type Require = (lookup: OwnLookup, text: string) => Promise<unknown>;

const requireSandbox: Require = async ({ store, scope }, text) => {
  const id = parseSandboxId({ sandboxID: text });
  if ((await store.findOwnSandbox(id, scope)) === undefined) throw notFound(`sandbox "${id}" was not found`);
};

const requireFiles =
  (field: string): Require =>
  async (lookup, text) => {
    const sandbox = await lookup.store.findOwnSandbox(text, lookup.scope);
    if (sandbox === undefined) await requireTemplateState(lookup, text, field);
  };

/** What the parameters of a path name. Those that are missing concern all projects, or a part of these. */
const ofPath: Record<string, Require> = {
  sandboxID: requireSandbox,
  templateID: (lookup, text) => requireTemplate(lookup, text, 'path.templateID'),
  alias: (lookup, text) => requireTemplate(lookup, text, 'path.alias'),
  snapshotID: (lookup, text) => requireTemplateState(lookup, text, 'path.snapshotID'),
};
/** Those of a query by which the server is chosen that makes the call. */
const ofQuery: Record<string, Require> = {
  to: requireFiles('query.to'),
  from: requireFiles('query.from'),
};

/**
 * Rejects with `not_found` when a call names an object that there is not for its caller. It comes before the validation and the forwarding
 * of the call: what another project has is answered as what does not exist.
 */
export const requireOwn = async (
  { params, query }: { params: unknown; query: unknown },
  lookup: OwnLookup & { scope: Scope },
): Promise<void> => {
  if (lookup.scope.project === null) return;
  for (const [given, named] of [
    [params, ofPath],
    [query, ofQuery],
  ] as const)
    for (const [name, require] of Object.entries(named)) {
      const text = (given as Record<string, unknown>)[name];
      if (typeof text === 'string') await require(lookup, text);
    }
};
