import type { KeyLimits } from '../quotas/quota-rows.ts';

export interface ApiKeyRow {
  /** A UUID. */
  id: string;
  /** SHA-256 of the key, hex. */
  hash: string;
  /** The first and the last characters of its value, which may be shown. */
  firstCharacters: string;
  lastCharacters: string;
  name: string;
  /** The only project that it reaches; null: all. */
  project: string | null;
  /** Whether it changes nothing. */
  readOnly: boolean;
  limits: KeyLimits;
  createdAt: number;
  lastUsedAt: number | null;
  /** A revoked key keeps its row, so that no server adds it again from its file. */
  revokedAt: number | null;
}

export type NewApiKey = Omit<ApiKeyRow, 'lastUsedAt' | 'revokedAt'>;
