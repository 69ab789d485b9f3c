/** What the URL of a request to the agent asks for. */
export interface RequestUrl {
  /** The path as it is written, not decoded. */
  readonly path: string;
  /** The query, decoded. */
  readonly query: URLSearchParams;
}

/**
 * Parses the URL of a request. The edge and the agent both use it, so the agent acts on exactly what the edge has checked.
 * Accepts every text: a broken escape is kept as it is.
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
