import { describe, expect, it } from 'vitest';
import { UserError } from '../user-error.ts';
import { parseAddress, parseNode } from './node-address.ts';

describe('the address of a node', () => {
  it('is a name and an address', () => {
    expect(parseNode('a-1=10.0.0.1:7400')).toEqual({ name: 'a-1', address: '10.0.0.1:7400' });
    expect(parseAddress('node.example.com:1')).toEqual({ host: 'node.example.com', port: 1 });
    expect(parseAddress('[fd00::1]:7400')).toEqual({ host: 'fd00::1', port: 7_400 });
  });

  it.each(['', 'a', 'a=', '=h:1', 'A=h:1', 'a-=h:1', 'a=h', 'a=h:', 'a=h:70000', 'a=::1:7400', 'a=h:1=b'])(
    'is refused as %s',
    (text) => {
      expect(() => parseNode(text)).toThrow(UserError);
    },
  );
});
