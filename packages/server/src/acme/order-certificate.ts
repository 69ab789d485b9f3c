import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { makeRequest } from '@skerry/runtime/node-certificates';
import { AcmeError } from './acme-error.ts';
import type { DnsRecords } from './dns-records.ts';
import { type Problem, type SignedRequests, toSentence } from './signed-requests.ts';

interface Authorization {
  status: string;
  identifier: { value: string };
  challenges: { type: string; url: string; token: string; error?: Problem }[];
}
interface Order {
  status: string;
  authorizations: string[];
  finalize: string;
  certificate?: string;
  error?: Problem;
}

/** How often a state is read when the authority names no time, and for how long in all. */
const PAUSE_MS = 2_000;
/** An authority may name no time at all by `Retry-After: 0`, or by a date that is over. */
const LEAST_PAUSE_MS = 1_000;
const DEADLINE_MS = 5 * 60_000;
const REMOVE_MS = 60_000;
const UNDECIDED: ReadonlySet<string> = new Set(['pending', 'ready', 'processing']);

export interface OrderOptions {
  requests: SignedRequests;
  records: DnsRecords;
  /** How long the DNS servers of the zone take to have a new record. */
  waitMs: number;
  log: { warn(message: string, fields?: Record<string, unknown>): void };
  signal: AbortSignal;
}

/**
 * Obtains a certificate for a domain and the names one level below, with a new key, by the challenge `dns-01`. Its records are removed again, also after a failure. Resolves with key and chain
 * as PEM. Rejects with `AcmeError`.
 */
export async function orderCertificate(domain: string, options: OrderOptions): Promise<string> {
  const { requests } = options;
  const identifiers = [domain, `*.${domain}`].map((value) => ({ type: 'dns', value }));
  const made = await requests.post('ordering the certificate', requests.directory.newOrder, { identifiers });
  const orderUrl = made.location;
  if (orderUrl === undefined) throw new AcmeError('ordering the certificate: the authority names no order');
  const order = made.json<Order>();
  await authorize(order.authorizations, options);

  const { request, key } = await makeRequest({ domain });
  const csr = Buffer.from(request.replace(/-----[^-]*-----|\s/g, ''), 'base64').toString('base64url');
  await requests.post('asking for the certificate', order.finalize, { csr });
  const done = await untilDecided<Order>('waiting for the certificate', orderUrl, options);
  if (done.status !== 'valid' || done.certificate === undefined)
    throw new AcmeError(
      `the authority refuses the certificate: ${toSentence(done.error ?? {}) || done.status}`,
    );
  const chain = await requests.post('reading the certificate', done.certificate);
  return `${key}${chain.text}`;
}

/** Shows by records in the DNS that the names are ours. */
async function authorize(urls: readonly string[], options: OrderOptions): Promise<void> {
  const { requests, records, waitMs, log, signal } = options;
  const shown: { name: string; value: string; challengeUrl: string; url: string }[] = [];
  try {
    for (const url of urls) {
      const { status, identifier, challenges } = (
        await requests.post('reading an authorization', url)
      ).json<Authorization>();
      if (status === 'valid') continue;
      const challenge = challenges.find(({ type }) => type === 'dns-01');
      if (challenge === undefined)
        throw new AcmeError(`the authority takes no record in the DNS as a proof for ${identifier.value}`);
      const value = createHash('sha256')
        .update(requests.toKeyAuthorization(challenge.token))
        .digest('base64url');
      const name = `_acme-challenge.${identifier.value}`;
      // A record that may be there already must be removed as well.
      shown.push({ name, value, challengeUrl: challenge.url, url });
      await records.add(name, value, signal);
    }
    if (shown.length > 0) await delay(waitMs, undefined, { signal });
    for (const { challengeUrl } of shown) await requests.post('answering a challenge', challengeUrl, {});
    for (const { name, url } of shown) {
      const done = await untilDecided<Authorization>('waiting for the check of the DNS', url, options);
      if (done.status === 'valid') continue;
      const problem = done.challenges.find(({ error }) => error !== undefined)?.error ?? {};
      throw new AcmeError(
        `the authority does not find the record ${name}: ${toSentence(problem) || done.status}`,
      );
    }
  } finally {
    // The signal may have ended already, and the records must go all the same.
    for (const { name, value } of shown)
      await records
        .remove(name, value, AbortSignal.timeout(REMOVE_MS))
        .catch((error: unknown) =>
          log.warn('a record of an ACME challenge is left in the DNS', { name, value, error }),
        );
  }
}

/** Reads an order or an authorization until the authority has decided: RFC 8555 has no other way to learn it. */
async function untilDecided<T extends { status: string }>(
  action: string,
  url: string,
  { requests, signal }: OrderOptions,
): Promise<T> {
  const deadline = performance.now() + DEADLINE_MS;
  for (;;) {
    const answer = await requests.post(action, url);
    const state = answer.json<T>();
    if (!UNDECIDED.has(state.status)) return state;
    const pauseMs = Math.max(answer.retryAfterMs ?? PAUSE_MS, LEAST_PAUSE_MS);
    if (performance.now() + pauseMs > deadline)
      throw new AcmeError(`${action}: the authority has not decided within ${DEADLINE_MS / 60_000} minutes`);
    await delay(pauseMs, undefined, { signal });
  }
}
