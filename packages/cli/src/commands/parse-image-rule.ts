import { type ImageRule, parseImageRule, requireDistinct } from '@skerry/images/image-map';
import { InvalidArgumentError } from 'commander';

/** Adds one `NAME=TARGET` to those before it. */
export function parseImageRules(text: string, before: readonly ImageRule[]): ImageRule[] {
  try {
    const rules = [...before, parseImageRule(text)];
    requireDistinct(rules);
    return rules;
  } catch (error) {
    throw new InvalidArgumentError(`${(error as Error).message}.`);
  }
}
