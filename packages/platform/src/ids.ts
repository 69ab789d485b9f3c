import { randomInt, randomUUID } from 'node:crypto';

export interface Ids {
  sandboxId(): string;
  templateId(): string;
  /** A UUID without its dashes: `toBuildId` makes the form that callers see. */
  snapshotId(): string;
  /** A UUID without its dashes, in the form of `snapshotId`. */
  buildId(): string;
}

const alphabet = 'abcdefghijklmnopqrstuvwxyz0123456789';

const randomText = (length: number): string => {
  let text = '';
  for (let i = 0; i < length; i += 1) text += alphabet.charAt(randomInt(alphabet.length));
  return text;
};

const randomUuid = (): string => randomUUID().replaceAll('-', '');

/** Ids that cannot be guessed. A sandbox id fits in one DNS label after `{port}-`. */
export const createRandomIds = (): Ids => ({
  sandboxId: () => `i${randomText(20)}`,
  templateId: () => randomText(20),
  snapshotId: randomUuid,
  buildId: randomUuid,
});

/** The build id under which callers see a build or a snapshot. */
export const toBuildId = (id: string): string =>
  id.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');

/** The id of the build or snapshot that a caller names by a build id, with or without dashes. */
export const parseBuildId = (buildId: string): string => buildId.replaceAll('-', '').toLowerCase();
