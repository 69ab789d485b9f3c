import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RuntimeError } from '../../../error.ts';
import { startInForm } from './namespace-form.ts';

let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'namespace-form-'));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

const mapped = { root: { path: '/' }, linux: { uidMappings: [1], gidMappings: [1], cgroupsPath: '/a' } };

/** Starts a program that accepts or rejects the bundle by its mappings; resolves with what the program received. */
const startWith = async (
  program: string,
  accepts: (hasMappings: boolean) => boolean,
  code: 'internal' | 'exhausted' = 'internal',
): Promise<{ given: boolean[]; failure: unknown }> => {
  const configPath = join(dir, 'config.json');
  await writeFile(configPath, JSON.stringify(mapped));
  const given: boolean[] = [];
  const start = async (): Promise<void> => {
    const { root, linux } = JSON.parse(await readFile(configPath, 'utf8')) as typeof mapped;
    expect([root, linux.cgroupsPath]).toEqual([mapped.root, '/a']);
    given.push('uidMappings' in linux && 'gidMappings' in linux);
    if (!accepts(given.at(-1) === true)) throw new RuntimeError(code, `refused ${given.length}`);
  };
  const { signal } = new AbortController();
  const failure = await startInForm({ program, configPath, signal, start }).catch((error: unknown) => error);
  return { given, failure };
};

describe('the form in which a bundle names a user namespace', () => {
  it('has the mappings for a runtime that accepts them', async () => {
    const { given, failure } = await startWith('needs', (hasMappings) => hasMappings);
    expect([given, failure]).toEqual([[true], undefined]);
  });

  it('has none for a runtime that rejects them, which the first start finds out', async () => {
    const takes = (hasMappings: boolean): boolean => !hasMappings;
    expect(await startWith('refuses', takes)).toEqual({ given: [true, false], failure: undefined });
    expect(await startWith('refuses', takes)).toEqual({ given: [false], failure: undefined });
  });

  it('is not tried again after another failure, and not for a runtime that has started a container before', async () => {
    const short = await startWith('short', () => false, 'exhausted');
    expect(short).toMatchObject({ given: [true], failure: { code: 'exhausted' } });
    await startWith('works', () => true);
    const later = await startWith('works', () => false);
    expect(later).toMatchObject({ given: [true], failure: { message: 'refused 1' } });
  });

  it('stays open when neither has started anything', async () => {
    const neither = await startWith('neither', () => false);
    expect(neither).toMatchObject({ given: [true, false], failure: { message: 'refused 2' } });
    expect((await startWith('neither', () => true)).given).toEqual([true]);
  });
});
