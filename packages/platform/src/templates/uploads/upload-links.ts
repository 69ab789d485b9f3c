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
  /** Throws `permission_denied` for a link that is not one of this server, and for one that has expired. */
  check(target: LinkTarget, given: { expires: string; signature: string }): void;
}

const VALID_MS = 60 * 60_000;

/** `secret` is that of `ensureSecret`: links stay valid over a restart. */
export const createUploadLinks = (options: { secret: string; clock: Pick<Clock, 'now'> }): UploadLinks => {
  const { secret, clock } = options;
  const sign = ({ templateId, hash }: LinkTarget, expires: string): Buffer =>
    createHmac('sha256', secret).update(`upload:${templateId}:${hash}:${expires}`).digest();
  return {
    toPath: (target) => {
      const expires = String(Math.ceil((clock.now() + VALID_MS) / 1000));
      const query = new URLSearchParams({ expires, signature: sign(target, expires).toString('hex') });
      return `/skerry/v1/templates/${target.templateId}/files/${target.hash}?${query}`;
    },
    check: (target, { expires, signature }) => {
      const given = Buffer.from(signature, 'hex');
      const expected = sign(target, expires);
      if (given.length !== expected.length || !timingSafeEqual(given, expected))
        throw new ApiError(
          'permission_denied',
          'the upload link is not one of this server; request a new one',
        );
      if (clock.now() >= Number(expires) * 1000)
        throw new ApiError('permission_denied', 'the upload link has expired; request a new one');
    },
  };
};
