import type { components } from '@skerry/platform-client';
import { describe, expect, it } from 'vitest';
import { parseNewSandbox } from './new-sandbox.ts';

type Body = components['schemas']['NewSandboxV1'];
const defaults = { timeoutSeconds: 15, secure: true, maxRunMs: 3_600_000, nameRules: true };
const parse = (body: Partial<Body>) => parseNewSandbox({ templateID: 'base', ...body }, defaults);

describe('parseNewSandbox', () => {
  it('fills in defaults', () => {
    expect(parse({})).toEqual({
      timeoutMs: 15_000,
      metadata: {},
      envVars: {},
      secure: true,
      isolation: null,
      network: null,
      ingress: null,
      autoPause: null,
      autoResume: false,
    });
  });

  it('refuses more metadata than a listing can carry', () => {
    expect(parse({ metadata: { a: 'x'.repeat(65_535) } }).metadata.a).toHaveLength(65_535);
    expect(() => parse({ metadata: { a: 'x'.repeat(65_536) } })).toThrow(
      expect.objectContaining({ status: 400, message: expect.stringContaining('body.metadata') }),
    );
  });

  it('distinguishes requested internet access from the default', () => {
    expect(parse({ allow_internet_access: true }).network).toEqual({ allow: [], deny: [] });
    expect(parse({ allow_internet_access: false }).network).toEqual({ allow: [], deny: ['0.0.0.0/0'] });
    const open = parseNewSandbox({ templateID: 'base' }, { ...defaults, secure: false });
    expect([open.secure, parse({ secure: true }).secure]).toEqual([false, true]);
  });

  it('accepts values that request no more than the default', () => {
    const body: Partial<Body> = {
      autoPause: false,
      autoPauseMemory: true,
      autoResume: { enabled: false },
      volumeMounts: [],
      iam: { tokens: {} },
      mcp: null,
      network: {
        allowPublicTraffic: true,
        allowOut: [],
        denyOut: [],
        egressProxy: null,
        httpsPorts: [],
        rules: {},
      },
    };
    expect(parse(body)).toEqual(parse({}));
  });

  const refused: [string, Partial<Body>][] = [
    ['autoPauseMemory', { autoPauseMemory: false }],
    ['volumeMounts', { volumeMounts: [{ name: 'data', path: '/data' }] }],
    ['iam', { iam: { tokens: { a: { audience: 'b', tokenType: 'c' } } } }],
    ['mcp', { mcp: { browserbase: {} } }],
    ['network.allowPublicTraffic', { network: { allowPublicTraffic: false }, secure: false }],
    ['network.allowOut[1]', { network: { allowOut: ['1.1.1.1', 'api.example.com'] } }],
    ['network.allowOut[0]', { network: { allowOut: ['10.0.0.0/8'] } }],
    ['network.denyOut[0]', { network: { denyOut: ['example.com'] } }],
    ['network.egressProxy', { network: { egressProxy: { address: 'proxy:1080' } } }],
    ['network.maskRequestHost', { network: { maskRequestHost: 'a b' } }],
    ['network.httpsPorts[0]', { network: { httpsPorts: [49_983] } }],
    ['network.rules', { network: { rules: { 'api.example.com': [] } } }],
  ];
  for (const [field, body] of refused) {
    it(`refuses ${field} by its name`, () => {
      expect(() => parse(body)).toThrow(`body.${field}`);
    });
  }

  it('takes names to reach where everything else is denied, in either way', () => {
    const allowOut = ['api.example.com', '*.example.com', '1.1.1.1'];
    const policy = { allow: allowOut, deny: ['0.0.0.0/0'] };
    expect(parse({ network: { allowOut, denyOut: ['0.0.0.0/0'] } }).network).toEqual(policy);
    expect(parse({ network: { allowOut }, allow_internet_access: false }).network).toEqual(policy);
    const without = { ...defaults, nameRules: false };
    const body = {
      templateID: 'base',
      network: { allowOut: ['1.1.1.1', 'a.example.com'], denyOut: ['0.0.0.0/0'] },
    };
    expect(() => parseNewSandbox(body, without)).toThrow('body.network.allowOut[1] is a name');
  });

  it.each(['*.com', '*.co.uk', '*.github.io'])('refuses %s, below which anyone can have a name', (name) => {
    const network = { allowOut: [name], denyOut: ['0.0.0.0/0'] };
    expect(() => parse({ network })).toThrow('body.network.allowOut[0] must be a name below a domain');
  });

  it('parses what expiry keeps, and refuses autoPauseMemory without autoPause', () => {
    expect(parse({ autoPause: true }).autoPause).toBe('memory');
    expect(parse({ autoPause: true, autoPauseMemory: true }).autoPause).toBe('memory');
    expect(parse({ autoPause: true, autoPauseMemory: false }).autoPause).toBe('filesystem');
  });

  it('parses whether traffic resumes it, and refuses that for pauses without memory', () => {
    const autoResume = { enabled: true };
    expect(parse({ autoResume })).toMatchObject({ autoResume: true, autoPause: null });
    expect(parse({ autoResume, autoPause: true })).toMatchObject({ autoResume: true, autoPause: 'memory' });
    for (const autoPause of [false, true])
      expect(() => parse({ autoResume, autoPause, autoPauseMemory: false })).toThrow('body.autoPauseMemory');
  });

  it('names all refused fields at once', () => {
    expect(() => parse({ mcp: { browserbase: {} }, network: { rules: { a: [] } } })).toThrow(
      'body.mcp, body.network.rules',
    );
  });

  it('refuses a time to live beyond the longest run and accepts one that equals it', () => {
    expect(parse({ timeout: 3600 }).timeoutMs).toBe(3_600_000);
    expect(() => parse({ timeout: 3601 })).toThrow('body.timeout must be at most 3600, got 3601');
  });
});
