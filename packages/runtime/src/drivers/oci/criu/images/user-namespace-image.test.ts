import { expect, it } from 'vitest';
import { createUserNamespaceImage } from './user-namespace-image.ts';

it('maps users and groups to the same range, as CRIU writes it', async () => {
  const extent = '0800 10c0843d 18808004'.replaceAll(' ', '');
  expect((await createUserNamespaceImage(1_000_000)).toString('hex')).toBe(
    ['1943565406494755', '18000000', `0a0a${extent}`, `120a${extent}`].join(''),
  );
});
