/** What the URL of a request to the agent asks for. */
export interface RequestUrl {
  /** As it is written. */
  readonly path: string;
  /** Decoded. */
  readonly query: URLSearchParams;
}

/**
 * Takes the URL of a request apart. The edge and the agent both use it, so that what one has checked is what the other does.
 * Every text is accepted: an escape that is broken stands for itself.
 */
export const parseRequestUrl = (url: string): RequestUrl => {
  const mark = url.indexOf('?');
  if (mark === -1) return { path: url, query: new URLSearchParams() };
  return { path: url.slice(0, mark), query: new URLSearchParams(url.slice(mark + 1)) };
};

/**
 * The URL that asks for the same without a signature. `parseRequestUrl` reads the same path and parameters from it, in the same
 * order, except `signature` and `signature_expiration`. The argument stays as it is.
 */
export const withoutSignature = ({ path, query }: RequestUrl): string => {
  // The text of the query is never cut: what is left of it could be read in another way than the whole.
  const kept = new URLSearchParams(query);
  kept.delete('signature');
  kept.delete('signature_expiration');
  return kept.size === 0 ? path : `${path}?${kept}`;
};
