import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { removeHostNetwork } from './host.ts';

const newStateDir = (): string => {
  const stateDir = join(mkdtempSync(join(tmpdir(), 'host-network-')), 'state');
  onTestFinished(() => rmSync(join(stateDir, '..'), { recursive: true }));
  mkdirSync(join(stateDir, 'slots'), { recursive: true });
  writeFileSync(join(stateDir, 'network'), 'as ensureHostNetwork notes it');
  return stateDir;
};

it('remembers a table that could not be deleted, and deletes it the next time', async () => {
  const stateDir = newStateDir();
  const refuse = (): Promise<never> => Promise.reject(new Error('no nft'));
  await expect(removeHostNetwork({ stateDir, filter: { run: refuse, list: refuse } })).rejects.toThrow(
    'no nft',
  );
  const texts: string[] = [];
  const run = async (text: string): Promise<string> => {
    if (!text.startsWith('list ')) texts.push(text);
    return '';
  };
  const filter = { run, list: run };
  await removeHostNetwork({ stateDir, filter });
  expect(texts).toEqual(['table inet skerry\ndelete table inet skerry\n']);
  expect(existsSync(stateDir)).toBe(false);
  await removeHostNetwork({ stateDir, filter });
  expect(texts).toHaveLength(1);
});

it('leaves the table alone while a sandbox has a slot', async () => {
  const stateDir = newStateDir();
  symlinkSync(`i1 ${tmpdir()}`, join(stateDir, 'slots', '7'));
  const refuse = (): Promise<never> => Promise.reject(new Error('not to be called'));
  await removeHostNetwork({ stateDir, filter: { run: refuse, list: refuse } });
  expect(existsSync(join(stateDir, 'network'))).toBe(true);
});
