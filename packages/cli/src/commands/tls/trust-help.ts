import type { TlsFiles } from '@skerry/server/certificates';
import { quoteWord } from '../sandbox/attached/quote-words.ts';

/** The lines that a user reads of new files: how the server uses them, and how each system trusts the authority. */
export function toTrustHelp({ domain, authority, cert, key, expiresAt }: TlsFiles): string[] {
  const [ca, certFile, keyFile] = [authority, cert, key].map(quoteWord);
  return `${cert}, valid until ${expiresAt.toISOString().slice(0, 10)}

Start the server with it:

  skerry up --domain ${domain}:4000 --tls-cert ${certFile} --tls-key ${keyFile}

Clients must trust the authority, which vouches for ${domain} and the names below alone. Its key stays in the folder.

  Node.js         export NODE_EXTRA_CA_CERTS=${ca}
  Python          export SSL_CERT_FILE=${ca}
  Debian, Ubuntu  sudo cp ${ca} /usr/local/share/ca-certificates/skerry.crt && sudo update-ca-certificates
  Fedora          sudo cp ${ca} /etc/pki/ca-trust/source/anchors/skerry.crt && sudo update-ca-trust
  macOS           sudo security add-trusted-cert -d -r trustRoot -k /Library/Keychains/System.keychain ${ca}
  Windows         certutil -addstore -f Root ca.crt, as administrator, with a copy of ${ca}
  Chrome (Linux)  certutil -d sql:$HOME/.pki/nssdb -A -t C,, -n skerry -i ${ca}, with certutil of libnss3-tools
  Firefox         Settings, Certificates, View Certificates, Authorities, Import

Run this again with --renew before it expires: a server reads the new files by itself.`.split('\n');
}
