import { expect, it } from 'vitest';
import { parsePauseKind } from './pause.ts';

it('keeps memory unless the body says otherwise, in either spelling', () => {
  expect(parsePauseKind({})).toBe('memory');
  expect(parsePauseKind({ memory: true })).toBe('memory');
  expect(parsePauseKind({ mode: 'full' })).toBe('memory');
  expect(parsePauseKind({ memory: true, mode: 'full' })).toBe('memory');
  expect(parsePauseKind({ memory: false })).toBe('filesystem');
  expect(parsePauseKind({ mode: 'filesystem' })).toBe('filesystem');
  expect(parsePauseKind({ memory: false, mode: 'filesystem' })).toBe('filesystem');
});

it.each([
  { memory: true, mode: 'filesystem' },
  { memory: false, mode: 'full' },
] as const)('refuses the contradiction %j', (body) => {
  expect(() => parsePauseKind(body)).toThrow(
    expect.objectContaining({ status: 400, message: expect.stringMatching(/memory.*mode/) }),
  );
});
