import { randomInt, randomUUID } from 'node:crypto';

export interface Ids {
  sandboxId(): string;
  templateId(): string;
  /** A UUID without its dashes: `toBuildId` makes what callers see. */
  snapshotId(): string;
}

const alphabet = 'abcdefghijklmnopqrstuvwxyz0123456789';

const randomText = (length: number): string => {
  let text = '';
  for (let i = 0; i < length; i += 1) text += alphabet.charAt(randomInt(alphabet.length));
  return text;
};

/** Ids that cannot be guessed. A sandbox id fits in one DNS label after `{port}-`. */
export const createRandomIds = (): Ids => ({
  sandboxId: () => `i${randomText(20)}`,
  templateId: () => randomText(20),
  snapshotId: () => randomUUID().replaceAll('-', ''),
});

/** The UUID by which callers know a snapshot as a build. */
export const toBuildId = (snapshotId: string): string =>
  snapshotId.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
