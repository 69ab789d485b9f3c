import { expect, it } from 'vitest';
import { parseMebibytes } from './parse-mebibytes.ts';

it('accepts whole mebibytes within the limits of a sandbox', () => {
  expect(['128', '2048', '1048576'].map(parseMebibytes)).toEqual([128, 2048, 1_048_576]);
});

it.each(['127', '1048577', '-128', '1.5e3', '1G', ''])('refuses %j', (text) => {
  expect(() => parseMebibytes(text)).toThrow(/the memory of a sandbox must be/);
});
