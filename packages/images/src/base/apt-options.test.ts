import { describe, expect, it } from 'vitest';
import { parseAptOptions } from './apt-options.ts';

describe('parseAptOptions', () => {
  it('keeps proxies and date checks, and drops options that are for the host alone', () => {
    const dump = [
      'Acquire "";',
      'Acquire::http "";',
      'Acquire::http::Proxy "http://proxy.example:3128";',
      'Acquire::http::Proxy::mirror.example "DIRECT";',
      'Acquire::https::mirror.example::Proxy "DIRECT";',
      'Acquire::Check-Valid-Until "false";',
      'Acquire::Languages:: "de";',
      'Acquire::http::Proxy-Auto-Detect "/usr/local/bin/detect";',
      '',
    ].join('\n');
    expect(parseAptOptions(dump)).toEqual([
      ['Acquire::http::Proxy', 'http://proxy.example:3128'],
      ['Acquire::https::mirror.example::Proxy', 'DIRECT'],
      ['Acquire::Check-Valid-Until', 'false'],
    ]);
  });
});
