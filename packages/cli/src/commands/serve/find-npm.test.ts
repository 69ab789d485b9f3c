import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { findNpm } from './find-npm.ts';

it('finds the first npm on the PATH, with the settings that lead it to its registry and no others', () => {
  const folder = mkdtempSync(join(tmpdir(), 'skerry-npm-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = `relative:/nonexistent:${folder}`;
  expect(findNpm({ PATH: path })).toBeUndefined();
  writeFileSync(join(folder, 'npm'), '', { mode: 0o755 });
  const settings = { PATH: path, HOME: '/root', NPM_CONFIG_REGISTRY: 'http://r/', https_proxy: 'http://p/' };
  const others = { npm_config_global: 'true', NODE_OPTIONS: '--inspect', SKERRY_API_KEY: 'secret' };
  expect(findNpm({ ...settings, ...others })).toEqual({ program: join(folder, 'npm'), env: settings });
  expect(findNpm({})).toBeUndefined();
});
