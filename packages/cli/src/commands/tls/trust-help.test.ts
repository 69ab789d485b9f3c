import { expect, it } from 'vitest';
import { toTrustHelp } from './trust-help.ts';

it('shows how the server uses the files and how each system trusts the authority, each on a line that can be pasted', () => {
  const lines = toTrustHelp({
    domain: 'boxes.test',
    authority: '/my files/ca.crt',
    cert: '/my files/tls.crt',
    key: '/my files/tls.key',
    expiresAt: new Date('2027-12-31T00:00:00Z'),
  });
  expect(lines[0]).toBe('/my files/tls.crt, valid until 2027-12-31');
  expect(lines).toContain(
    "  skerry up --domain boxes.test:4000 --tls-cert '/my files/tls.crt' --tls-key '/my files/tls.key'",
  );
  const browsers = ['Chrome (Linux)', 'Firefox'];
  for (const system of ['Node.js', 'Python', 'Debian, Ubuntu', 'Fedora', 'macOS', 'Windows', ...browsers])
    expect(lines.filter((line) => line.startsWith(`  ${system} `))).toHaveLength(1);
  expect(lines.filter((line) => line.includes('\n'))).toEqual([]);
});
