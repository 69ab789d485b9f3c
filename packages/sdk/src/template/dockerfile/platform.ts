import { refuse } from './refused.ts';

/** What a template is built for, as `linux/amd64`. */
export interface Platform {
  os: string;
  arch: string;
}

/** Docker takes an architecture alone for one of Linux. */
const form = /^(?:linux\/)?(amd64|arm64)(?:\/v8)?$/;
const automatic = /^(?:TARGET|BUILD)(?:PLATFORM|OS|ARCH|VARIANT)$/;

/** Whether Docker itself sets this argument, for the platform that it builds for or on. */
export const isPlatformArg = (name: string): boolean => automatic.test(name);

/** Undefined for a platform that no server has. */
export function parsePlatform(text: string): Platform | undefined {
  const [, arch] = form.exec(text.toLowerCase().replace('x86_64', 'amd64').replace('aarch64', 'arm64')) ?? [];
  return arch === undefined ? undefined : { os: 'linux', arch };
}

/** The platform of this machine. */
export const hostPlatform = (): string => `linux/${process.arch === 'x64' ? 'amd64' : process.arch}`;

/** The arguments of a platform: a build runs on what it builds for. */
export const toPlatformArgs = ({ os, arch }: Platform): [name: string, value: string][] =>
  ['TARGET', 'BUILD'].flatMap((prefix): [string, string][] => [
    [`${prefix}PLATFORM`, `${os}/${arch}`],
    [`${prefix}OS`, os],
    [`${prefix}ARCH`, arch],
    [`${prefix}VARIANT`, ''],
  ]);

/** Throws `DockerfileError` for another platform than that of the build. */
export function requirePlatform(text: string, { os, arch }: Platform, line: number): void {
  const found = parsePlatform(text);
  // An empty one, as of a variable that is not set, is the default, and so is the architecture that is not there.
  if (text === '' || text.toLowerCase() === 'linux' || (found?.os === os && found.arch === arch)) return;
  refuse(line, `FROM --platform=${text}: the template is for ${os}/${arch}, and is built there`);
}
