import { expect, it } from 'vitest';
import { createNameRules } from '../rules/name-rules.ts';
import { createPins } from '../rules/pins.ts';
import type { Answer } from './messages.ts';
import { createResolver } from './resolver.ts';

const open = (answers: Record<string, string[]>) => {
  const asked: string[] = [];
  const resolver = createResolver({
    rules: createNameRules(['api.example.com', '*.cdn.example']),
    pins: createPins(),
    isClosed: (address) => address.startsWith('10.'),
    ask: async (name): Promise<Answer> => {
      asked.push(name);
      const addresses = answers[name];
      return addresses ? { code: 'NOERROR', addresses, ttlSeconds: 30 } : { code: 'NXDOMAIN' };
    },
  });
  return { resolver, asked };
};

it('answers NXDOMAIN for a name that no rule allows and asks no server', async () => {
  const { resolver, asked } = open({});
  for (const name of [
    'evil.example',
    'x.api.example.com',
    'cdn.example',
    `${'a'.repeat(63)}.evil.example`,
    '1.2.3.4',
    'api.example.com.evil.example',
    '',
  ])
    expect(await resolver.answer({ name, type: 'A' })).toEqual({ code: 'NXDOMAIN' });
  expect(asked).toEqual([]);
});

it('asks for addresses alone: no other type of an allowed name leaves', async () => {
  const { resolver, asked } = open({ 'api.example.com': ['1.2.3.4'] });
  for (const type of ['AAAA', 'TXT', 'NULL', 'UNKNOWN_65', 'SRV', 'ANY'])
    expect(await resolver.answer({ name: 'api.example.com', type })).toMatchObject({ addresses: [] });
  expect(asked).toEqual([]);
  expect(await resolver.answer({ name: 'API.example.com.', type: 'A' })).toMatchObject({
    addresses: ['1.2.3.4'],
  });
  expect(asked).toEqual(['api.example.com']);
});

it('removes closed addresses from answers, refuses an answer of them alone, and pins neither', async () => {
  const { resolver } = open({ 'a.cdn.example': ['10.0.0.1', '1.2.3.4'], 'b.cdn.example': ['10.0.0.1'] });
  expect(await resolver.answer({ name: 'a.cdn.example', type: 'A' })).toMatchObject({
    addresses: ['1.2.3.4'],
  });
  expect(await resolver.answer({ name: 'b.cdn.example', type: 'A' })).toEqual({ code: 'REFUSED' });
  expect(await resolver.leadsTo('b.cdn.example', '10.0.0.1')).toBe(false);
});

it('leads to addresses of the name alone, which it asks for when none was asked before', async () => {
  const { resolver, asked } = open({ 'api.example.com': ['1.2.3.4'], 'a.cdn.example': ['5.6.7.8'] });
  expect(await resolver.leadsTo('api.example.com', '1.2.3.4')).toBe(true);
  expect(await resolver.leadsTo('api.example.com', '1.2.3.4')).toBe(true);
  expect(asked).toEqual(['api.example.com']);
  expect(await resolver.leadsTo('api.example.com', '5.6.7.8')).toBe(false);
  expect(await resolver.leadsTo('evil.example', '1.2.3.4')).toBe(false);
});
