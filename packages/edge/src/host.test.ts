import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parseTarget } from './host.ts';

interface Vectors {
  domain: string;
  sharedHosts: string[];
  cases: {
    title: string;
    headers: Record<string, string>;
    result: { port: number; sandboxID: string } | { status: number } | 'platform';
  }[];
}

const file = new URL('../../../specs/vectors/host-names.json', import.meta.url);
const { domain, sharedHosts, cases } = JSON.parse(readFileSync(file, 'utf8')) as Vectors;

describe('parseTarget', () => {
  it.each(cases)('$title: $headers.host', ({ headers, result }) => {
    const parse = () => parseTarget(headers, { domain, sharedHosts });
    if (result === 'platform') expect(parse()).toBeUndefined();
    else if ('status' in result) expect(parse).toThrow(expect.objectContaining({ status: result.status }));
    else expect(parse()).toEqual({ port: result.port, sandboxId: result.sandboxID });
  });
});
