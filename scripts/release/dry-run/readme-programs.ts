import { readCodeBlocks } from '../../../packages/testkit/src/pages/code-blocks.ts';

const readmes = {
  'skerry.ts': 'README.md',
  'sdk.ts': 'packages/sdk/README.md',
  'platform-client.ts': 'packages/platform-client/README.md',
  'envd-client.ts': 'packages/envd-client/README.md',
};

/** The first program of each README that a user sees, by the name of a file for it. */
export const readmePrograms = (): Record<string, string> =>
  Object.fromEntries(
    Object.entries(readmes).map(([file, page]) => {
      const program = readCodeBlocks(page).find(({ language }) => language === 'ts');
      if (program === undefined) throw new Error(`${page} has no program`);
      return [file, program.text];
    }),
  );
