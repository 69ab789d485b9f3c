import { globSync } from 'node:fs';
import { join } from 'node:path';

/** The variables with which programs find the tools that a checkout pins, which is set up. */
export const toToolVariables = (checkout: string): { PATH: string } => {
  const tools = [...globSync(join(checkout, '.toolchain/pnpm-*/bin')), join(checkout, 'node_modules/.bin')];
  return { PATH: [...tools, process.env.PATH].join(':') };
};
