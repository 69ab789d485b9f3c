/** What the holder of a certificate is: the platform, or the node of that name. */
export type CertificateRole = { role: 'platform' } | { role: 'node'; name: string };

/**
 * The name is part of a URI and a host name. Machines of Kubernetes have names of that form (RFC 1123, 2.1).
 */
const nodeNamePattern = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/;
const MAX_NAME_LENGTH = 253;

/** The form of a node's name, in the words of error messages. */
export const nodeNameForm =
  'up to 253 of a-z, 0-9, dashes and dots, in parts of up to 63 that begin and end with a letter or digit';

/** Whether a node may have that name. */
export const isNodeName = (name: string): boolean =>
  name.length <= MAX_NAME_LENGTH && nodeNamePattern.test(name);

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
