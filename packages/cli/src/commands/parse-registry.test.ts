import { describe, expect, it } from 'vitest';
import { parseEndpoint, parseRegistry } from './parse-registry.ts';

describe('parseRegistry', () => {
  it('takes a host with or without a port', () => {
    expect(['Registry.test', '[::1]:5000'].map(parseRegistry)).toEqual(['registry.test', '[::1]:5000']);
    expect(() => parseRegistry('https://registry.test')).toThrow('the registry must be a host');
  });
});

describe('parseEndpoint', () => {
  it('takes https anywhere, and http on this host', () => {
    expect(
      ['https://vpce-1.api.ecr.test', 'http://127.0.0.1:5000/', 'http://[::1]:5000'].map(parseEndpoint),
    ).toEqual(['https://vpce-1.api.ecr.test/', 'http://127.0.0.1:5000/', 'http://[::1]:5000/']);
  });

  it.each([
    'api.ecr.test',
    'http://api.ecr.test',
    'https://a:b@api.ecr.test',
    'https://api.ecr.test/x',
    'file:///x',
  ])('refuses %s', (text) => {
    expect(() => parseEndpoint(text)).toThrow('the URL must be https://host');
  });
});
