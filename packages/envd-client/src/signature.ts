export interface SignatureInput {
  /** The raw value of the `path` query parameter, empty when it is absent; never the resolved path. */
  path: string;
  operation: 'read' | 'write';
  /** The raw value of the `username` query parameter, empty when it is absent. */
  user: string;
  accessToken: string;
  /** Unix time in seconds. If absent, the signature never expires. */
  expiresAt?: number | undefined;
}

/**
 * Signs the download or upload of one file, so that a program with the URL needs no token:
 * `v1_` and the unpadded base64 of SHA-256 over `path:operation:user:token[:expiresAt]`.
 */
export async function createSignature(input: SignatureInput): Promise<string> {
  const parts: (string | number)[] = [input.path, input.operation, input.user, input.accessToken];
  if (input.expiresAt !== undefined) parts.push(input.expiresAt);
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(parts.join(':')));
  return `v1_${btoa(String.fromCharCode(...new Uint8Array(digest))).replace(/=+$/, '')}`;
}
