import { describe, expect, it } from 'vitest';
import { createSealer } from './sealer.ts';

describe('createSealing', () => {
  const sealer = createSealer('secret');
  const value = { TOKEN: 'значение' };

  it('opens what it has sealed, also with an equal secret later, and shows nothing of it', () => {
    const sealed = sealer.seal(value, 'env');
    for (const part of ['TOKEN', 'значение', btoa('TOKEN')]) expect(sealed).not.toContain(part);
    expect(createSealer('secret').open(sealed, 'env')).toEqual(value);
    expect(sealer.seal(value, 'env')).not.toBe(sealed);
    expect(sealer.open(sealer.seal({}, 'env'), 'env')).toEqual({});
    expect(sealer.seal(null, 'env')).toBeNull();
  });

  it.each([
    ['another secret', (sealed: string) => createSealer('other').open(sealed, 'env')],
    ['another column', (sealed: string) => sealer.open(sealed, 'start')],
    ['a changed text', (sealed: string) => sealer.open(`AAAA${sealed.slice(4)}`, 'env')],
    ['a plain text', () => sealer.open(JSON.stringify(value), 'env')],
  ])('refuses %s and says what to do', (_, open) => {
    const error = { code: 'internal', message: expect.stringContaining('restore the file "secret"') };
    expect(() => open(sealer.seal(value, 'env'))).toThrow(expect.objectContaining(error));
  });
});
