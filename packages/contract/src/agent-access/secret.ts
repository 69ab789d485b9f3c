/** Compares a text from a request with a secret, in a time that depends only on the length of that text. */
export const isSameSecret = (given: string, secret: string): boolean => {
  // Without `node:crypto`: loading it takes longer than the rest of a first call of the agent until its process starts.
  let difference = given.length ^ secret.length;
  for (let index = 0; index < given.length; index += 1)
    difference |= given.charCodeAt(index) ^ secret.charCodeAt(index % secret.length);
  return difference === 0;
};

/**
 * The form in which the agent knows the access token of its sandbox, in hex. A random token cannot be derived from its
 * hash, so code inside may read the hash.
 */
export const hashToken = (accessToken: string): string => {
  const { createHash } = process.getBuiltinModule('node:crypto');
  return createHash('sha256').update(accessToken).digest('hex');
};
