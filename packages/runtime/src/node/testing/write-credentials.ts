import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CertificateRole } from '../certificate-role.ts';
import type { CredentialFiles } from '../credentials.ts';
import { type CertificateWithKey, makeAuthority, makeCertificate } from '../make-certificates.ts';

/** An authority in a folder, and certificates of it as files. */
export interface TestAuthority {
  readonly authority: CertificateWithKey;
  write(role: CertificateRole, validity?: { days?: number; now?: number }): Promise<CredentialFiles>;
}

/** Makes an authority whose files lie in that folder. */
export async function makeTestAuthority(
  folder: string,
  validity: { days?: number; now?: number } = {},
): Promise<TestAuthority> {
  mkdirSync(folder, { recursive: true });
  const authority = await makeAuthority({ days: 1, ...validity });
  const ca = join(folder, 'ca.crt');
  writeFileSync(ca, authority.cert);
  return {
    authority,
    write: async (role, given = {}) => {
      const made = await makeCertificate(role, { authority, days: 1, ...given });
      const name = join(folder, role.role === 'node' ? role.name : 'platform');
      const files = { cert: `${name}.crt`, key: `${name}.key`, ca };
      writeFileSync(files.cert, made.cert);
      writeFileSync(files.key, made.key);
      chmodSync(files.key, 0o600);
      return files;
    },
  };
}
