export interface ApiKeyRow {
  /** SHA-256 of the key, hex. */
  hash: string;
  /** The part of the key that may be shown. */
  mask: string;
  name: string;
  createdAt: number;
  lastUsedAt: number | null;
}
