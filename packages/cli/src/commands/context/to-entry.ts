import { type Contexts, findContext } from '../../contexts.ts';

/** What commands print of a context as JSON, which is never its key. */
interface ContextEntry {
  name: string;
  isCurrent: boolean;
  apiUrl: string;
  domain?: string;
}

/** Throws `UserError` when there is none of that name. */
export function toEntry(contexts: Contexts, name: string): ContextEntry {
  const { apiUrl, domain } = findContext(contexts, name);
  return {
    name,
    isCurrent: name === contexts.current,
    apiUrl,
    ...(domain === undefined ? {} : { domain }),
  };
}
