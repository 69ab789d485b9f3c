import { describe, expect, it } from 'vitest';
import { createSealing } from './sealing.ts';

describe('createSealing', () => {
  const sealing = createSealing('secret');
  const value = { TOKEN: 'значение' };

  it('opens what it has sealed, also with an equal secret later, and shows nothing of it', () => {
    const sealed = sealing.seal(value, 'env');
    for (const part of ['TOKEN', 'значение', btoa('TOKEN')]) expect(sealed).not.toContain(part);
    expect(createSealing('secret').open(sealed, 'env')).toEqual(value);
    expect(sealing.seal(value, 'env')).not.toBe(sealed);
    expect(sealing.open(sealing.seal({}, 'env'), 'env')).toEqual({});
    expect(sealing.seal(null, 'env')).toBeNull();
  });

  it.each([
    ['another secret', (sealed: string) => createSealing('other').open(sealed, 'env')],
    ['another column', (sealed: string) => sealing.open(sealed, 'start')],
    ['a changed text', (sealed: string) => sealing.open(`AAAA${sealed.slice(4)}`, 'env')],
    ['a plain text', () => sealing.open(JSON.stringify(value), 'env')],
  ])('refuses %s and says what to do', (_, open) => {
    const error = { code: 'internal', message: expect.stringContaining('restore the file "secret"') };
    expect(() => open(sealing.seal(value, 'env'))).toThrow(expect.objectContaining(error));
  });
});
