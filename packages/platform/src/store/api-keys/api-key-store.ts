/** The keys of the platform API, by their hashes. */
export interface ApiKeyStore {
  /** Does not change an existing key of the same hash. */
  addApiKey(key: ApiKeyRow): Promise<void>;
  findApiKey(hash: string): Promise<ApiKeyRow | undefined>;
  touchApiKey(hash: string, lastUsedAt: number): Promise<void>;
}

export interface ApiKeyRow {
  /** SHA-256 of the key, hex. */
  hash: string;
  /** The part of the key that may be shown. */
  mask: string;
  name: string;
  createdAt: number;
  lastUsedAt: number | null;
}
