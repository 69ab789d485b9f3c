import { expect, it } from 'vitest';
import { ImageError } from '../image-error.ts';
import { createRetries } from './retries.ts';

const failWith = (error: Error) => {
  let attempts = 0;
  const attempt = async (): Promise<never> => {
    attempts += 1;
    throw error;
  };
  return { attempt, count: () => attempts };
};
const unavailable = new ImageError('registry_unavailable', 'no answer');

it('ends when the waits of all requests would take longer than a pull may wait', async () => {
  const retries = createRetries({ signal: undefined, firstWaitMs: 2, totalWaitMs: 15 });
  const first = failWith(unavailable);
  await expect(retries.repeat(first.attempt)).rejects.toThrow('no answer; given up after 4 attempts');
  expect(first.count()).toBe(4);
  const second = failWith(unavailable);
  await expect(retries.repeat(second.attempt)).rejects.toThrow('due in 1 s, and a pull waits at most 1 s');
  expect(second.count()).toBe(1);
});

it.each([new ImageError('registry_refused', 'no'), new ImageError('corrupt', 'no'), new Error('no')])(
  'does not repeat what fails for good: %o',
  async (error) => {
    const { attempt, count } = failWith(error);
    await expect(createRetries({ signal: undefined }).repeat(attempt)).rejects.toBe(error);
    expect(count()).toBe(1);
  },
);
