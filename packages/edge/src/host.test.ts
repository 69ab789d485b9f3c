import { readFileSync } from 'node:fs';
import { ApiError } from '@skerry/contract/error';
import { expect, it } from 'vitest';
import { parseTarget } from './host.ts';

interface Vectors {
  domain: string;
  sharedHosts: string[];
  cases: {
    title: string;
    headers: Record<string, string>;
    result: 'platform' | { status: number } | { port: number; sandboxID: string };
  }[];
}

const { domain, sharedHosts, cases } = JSON.parse(
  readFileSync(new URL('../../../specs/vectors/host-names.json', import.meta.url), 'utf8'),
) as Vectors;

it.each(cases)('agrees with the common cases: $title', ({ headers, result }) => {
  const parse = () => parseTarget(headers, { domain, sharedHosts });
  if (result === 'platform') expect(parse()).toBeUndefined();
  else if ('status' in result) {
    expect(parse).toThrow(ApiError);
    expect(parse).toThrow(expect.objectContaining({ status: result.status }));
  } else expect(parse()).toEqual({ port: result.port, sandboxId: result.sandboxID });
});

it('leaves a name with a dash that is not under the domain to the platform', () => {
  expect(parseTarget({ host: 'my-server.lan:3000' }, { domain, sharedHosts })).toBeUndefined();
});
