/**
 * The user name of `Authorization: Basic`; the password is ignored. It selects the user that a call runs as and proves nothing
 * about the caller. Undefined when the header is absent, has another scheme, or has an empty name.
 */
export const basicUserOf = (authorization: string | undefined): string | undefined => {
  const encoded = /^basic +([a-z0-9+/=_-]+) *$/i.exec(authorization ?? '')?.[1];
  if (encoded === undefined) return undefined;
  const [name] = Buffer.from(encoded, 'base64').toString('utf8').split(':', 1);
  return name === '' ? undefined : name;
};
