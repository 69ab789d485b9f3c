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
