import { describe, expect, it } from 'vitest';
import { requireProtection } from './require-protection.ts';

const start =
  (host: string, options: { tls?: object; allowsPlainHttp?: boolean } = {}) =>
  () =>
    requireProtection({ allowsPlainHttp: false, host, ...options });

describe('a server without TLS', () => {
  it.each(['127.0.0.1', '127.1.2.3', '::1', 'localhost'])('starts at %s', (host) => {
    expect(start(host)).not.toThrow();
  });

  it.each(['0.0.0.0', '::', '192.168.1.7', 'example.org', '127.0.0.1.example.org', ''])(
    'starts at "%s" with --plain-http alone, as others can reach it',
    (host) => {
      expect(start(host)).toThrow('is open to other machines');
      expect(start(host, { allowsPlainHttp: true })).not.toThrow();
      expect(start(host, { tls: {} })).not.toThrow();
    },
  );
});
