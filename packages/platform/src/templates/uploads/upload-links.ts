import { createHmac, timingSafeEqual } from 'node:crypto';
import { ApiError } from '@skerry/contract/error';
import type { Clock } from '../../clock.ts';

/** The archive that a link is for. */
export interface LinkTarget {
  templateId: string;
  hash: string;
}

/** Links that allow one upload each, without a key. */
export interface UploadLinks {
  /** The path and query of a link, valid for an hour. */
  toPath(target: LinkTarget): string;
  /**
   * Throws `permission_denied` for a link that is not one of this server, letter by letter, and for one that has expired. `given` is the
   * parsed query: a parameter that it has twice is not a string.
   */
  check(target: LinkTarget, given: { expires?: unknown; signature?: unknown }): void;
}

const VALID_MS = 60 * 60_000;

/** `secret` is that of `ensureSecret`: links stay valid over a restart. */
export const createUploadLinks = (options: { secret: string; clock: Pick<Clock, 'now'> }): UploadLinks => {
  const { secret, clock } = options;
  const sign = ({ templateId, hash }: LinkTarget, expires: string): string =>
    createHmac('sha256', secret).update(`upload:${templateId}:${hash}:${expires}`).digest('hex');
  return {
    toPath: (target) => {
      const expires = String(Math.ceil((clock.now() + VALID_MS) / 1000));
      const query = new URLSearchParams({ expires, signature: sign(target, expires) });
      return `/skerry/v1/templates/${target.templateId}/files/${target.hash}?${query}`;
    },
    check: (target, { expires, signature }) => {
      const isOwn =
        typeof expires === 'string' &&
        typeof signature === 'string' &&
        isSameText(signature, sign(target, expires));
      if (!isOwn)
        throw new ApiError(
          'permission_denied',
          'the upload link is not one of this server; request a new one',
        );
      if (clock.now() >= Number(expires) * 1000)
        throw new ApiError('permission_denied', 'the upload link has expired; request a new one');
    },
  };
};

/** Compares the spellings, because a decoder of hex reads several as the same bytes. */
const isSameText = (one: string, other: string): boolean => {
  const [first, second] = [Buffer.from(one), Buffer.from(other)];
  return first.length === second.length && timingSafeEqual(first, second);
};
