import { isNodeName } from '@skerry/contract/node-name';

/** What the holder of a certificate is: the platform, or the node of that name. */
export type CertificateRole = { role: 'platform' } | { role: 'node'; name: string };

/** The URI among the alternative names of a certificate (RFC 5280, 4.2.1.6) that says what its holder is. */
export const toRoleUri = (role: CertificateRole): string =>
  role.role === 'platform' ? 'skerry://platform' : `skerry://node/${role.name}`;

/** The text for a person. */
export const describeRole = (role: CertificateRole | undefined): string => {
  if (role === undefined) return 'neither a node nor a platform';
  return role.role === 'platform' ? 'the platform' : `node "${role.name}"`;
};

/**
 * Returns the role in the alternative names of a certificate, as Node writes them (`URI:…, DNS:…`). Undefined when there is none,
 * or more than one: such a certificate is no use.
 */
export const parseRole = (subjectAltName: string | undefined): CertificateRole | undefined => {
  const uris = (subjectAltName ?? '')
    .split(', ')
    .flatMap((name) => name.match(/^URI:(skerry:.*)$/)?.[1] ?? []);
  const [uri] = uris;
  if (uri === undefined || uris.length > 1) return undefined;
  if (uri === toRoleUri({ role: 'platform' })) return { role: 'platform' };
  const name = uri.match(/^skerry:\/\/node\/(.*)$/)?.[1];
  return name !== undefined && isNodeName(name) ? { role: 'node', name } : undefined;
};
