import { describe, expect, it } from 'vitest';
import { createManualClock } from '../../testing/manual-clock.ts';
import { createUploadLinks } from './upload-links.ts';

const target = { templateId: 't1', hash: 'a'.repeat(64) };
const denied = (message: string) =>
  expect.objectContaining({ code: 'permission_denied', message: expect.stringContaining(message) });

describe('an upload link', () => {
  const { clock, advance } = createManualClock();
  const links = createUploadLinks({ secret: 'secret', clock });
  const toQuery = (path: string) =>
    Object.fromEntries(new URL(path, 'http://x').searchParams) as { expires: string; signature: string };

  it('is for one template, one hash and an hour', () => {
    const path = links.toPath(target);
    expect(path).toMatch(/^\/skerry\/v1\/templates\/t1\/files\/a{64}\?expires=\d+&signature=[0-9a-f]{64}$/);
    const query = toQuery(path);
    expect(() => links.check(target, query)).not.toThrow();
    for (const other of [
      { ...target, templateId: 't2' },
      { ...target, hash: 'b'.repeat(64) },
    ])
      expect(() => links.check(other, query)).toThrow(denied('not one of this server'));
    advance(59 * 60_000);
    expect(() => links.check(target, query)).not.toThrow();
    advance(2 * 60_000);
    expect(() => links.check(target, query)).toThrow(denied('expired'));
  });

  it('is refused with another expiry, another secret and without a signature', () => {
    const query = toQuery(links.toPath(target));
    const foreign = toQuery(createUploadLinks({ secret: 'other', clock }).toPath(target));
    for (const given of [{ ...query, expires: `${query.expires}0` }, foreign, { expires: '', signature: '' }])
      expect(() => links.check(target, given)).toThrow(denied('not one of this server'));
  });

  it('has one spelling', () => {
    const { expires, signature } = toQuery(links.toPath(target));
    const others = [
      { expires, signature: signature.toUpperCase() },
      { expires, signature: `${signature}zz` },
      { expires, signature: `${signature} ` },
      { expires, signature: ` ${signature}` },
      { expires, signature: `${signature}0` },
      { expires, signature: [signature, signature] },
      { expires: [expires, expires], signature },
      { expires: `0${expires}`, signature },
      { expires: `${expires} `, signature },
      { signature },
      { expires },
    ];
    for (const given of others)
      expect(() => links.check(target, given), JSON.stringify(given)).toThrow(
        denied('not one of this server'),
      );
  });
});
