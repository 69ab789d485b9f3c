import { notFound } from '@skerry/contract/error';
import type { Scope } from '../../store/scope.ts';
import { parseSandboxId } from '../sandbox-id.ts';
import { requireTemplate, requireTemplateState } from '../templates/find-template.ts';
import { type OwnLookup, requireFiles } from './require-files.ts';

type Require = (lookup: OwnLookup, text: string) => Promise<unknown>;

const requireSandbox: Require = async ({ store, scope }, text) => {
  const id = parseSandboxId({ sandboxID: text });
  if ((await store.findOwnSandbox(id, scope)) === undefined) throw notFound(`sandbox "${id}" was not found`);
};

/** The parameters of paths that name an object of a project. The others name what all projects share, or a part of an object here. */
const ofPath: Record<string, Require> = {
  sandboxID: requireSandbox,
  templateID: (lookup, text) => requireTemplate(lookup, text, 'path.templateID'),
  alias: (lookup, text) => requireTemplate(lookup, text, 'path.alias'),
  snapshotID: (lookup, text) => requireTemplateState(lookup, text, 'path.snapshotID'),
};
/** The parameters of queries that name an object and decide which server makes the call. */
const ofQuery: Record<string, Require> = {
  to: (lookup, text) => requireFiles(lookup, text, 'query.to'),
  from: (lookup, text) => requireFiles(lookup, text, 'query.from'),
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
