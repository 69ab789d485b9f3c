import { randomInt } from 'node:crypto';

export interface Ids {
  sandboxId(): string;
  templateId(): string;
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
  snapshotId: () => randomText(20),
});
