/** Statuses by which a server asks for a later request. */
const LATER = [429, 503];

/** How long an answer asks to wait before the same request, in milliseconds; undefined when it does not. */
export const readRetryAfterMs = ({ status, headers }: Response, nowMs: number): number | undefined => {
  const text = headers.get('retry-after')?.trim();
  if (text === undefined || !LATER.includes(status)) return undefined;
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1_000;
  // Beside a number only a date is allowed, which begins with the name of a day.
  const atMs = /^[A-Za-z]/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs);
};
