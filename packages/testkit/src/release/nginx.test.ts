// The configuration that docs/e2b-clients.md shows, as nginx reads it.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findServerProgram } from '@skerry/platform/server-program';
import { expect, it, onTestFinished } from 'vitest';
import { readCodeBlocks } from '../pages/code-blocks.ts';

const name = 'boxes.example.com';

/** Has nginx check this configuration of a server, with a certificate for it. The namespace has all ports free. */
function check(server: string): { status: number | null; stderr: string } {
  const folder = mkdtempSync(join(tmpdir(), 'skerry-nginx-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, 'logs'));
  const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')];
  execFileSync(
    'openssl',
    [
      ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'],
      ...['-subj', `/CN=*.${name}`, '-keyout', key, '-out', certificate],
    ],
    { stdio: 'ignore' },
  );
  const placed = server.replace(`/etc/ssl/${name}.pem`, certificate).replace(`/etc/ssl/${name}.key`, key);
  // The folders and logs of an installed nginx are missing where it is only unpacked.
  const folders = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (kind) => `${kind}_temp_path ${kind};\n`,
  );
  writeFileSync(
    join(folder, 'nginx.conf'),
    `pid nginx.pid;\nevents {}\nhttp {\naccess_log off;\n${folders.join('')}${placed}}\n`,
  );
  const nginx = findServerProgram('nginx');
  if (nginx === undefined)
    throw new Error('nginx is not on this host: node scripts/system-packages.ts --more');
  const argv = ['--net', nginx.path, '-t', '-p', folder, '-c', 'nginx.conf', '-e', 'stderr'];
  return spawnSync('unshare', argv, { encoding: 'utf8', env: { ...process.env, ...nginx.env } });
}

it('is accepted, and would be refused with a directive that does not exist', () => {
  const [block, ...others] = readCodeBlocks('docs/e2b-clients.md').filter(
    ({ language }) => language === 'nginx',
  );
  expect(others).toEqual([]);
  const { status, stderr } = check(block?.text ?? '');
  expect(stderr).toContain('test is successful');
  expect(status).toBe(0);
  expect(check(`${block?.text}no_such_directive on;\n`).status).toBe(1);
});
