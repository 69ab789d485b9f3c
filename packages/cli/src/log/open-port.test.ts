import { expect, it } from 'vitest';
import { warnOfOpenPort } from './open-port.ts';

it('a server warns of a port that other machines can reach, and of no other', () => {
  const warned: unknown[] = [];
  const log = { warn: (_message: string, fields?: object) => void warned.push(fields) };
  for (const host of ['127.0.0.1', '127.1.2.3', '::1', 'localhost']) warnOfOpenPort(host, log);
  expect(warned).toEqual([]);
  const open = ['0.0.0.0', '::', '192.168.1.7', 'example.org', '127.0.0.1.example.org', ''];
  for (const host of open) warnOfOpenPort(host, log);
  expect(warned).toEqual(open.map((host) => ({ host })));
});
