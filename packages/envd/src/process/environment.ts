import type { Settings } from '../settings.ts';
import type { User } from '../system/users.ts';

/** What the agent itself runs with, apart from its private library path. */
const DEFAULT_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/**
 * The environment of a new process. Later sources win: PATH, the user, the sandbox's variables, the names that the agent
 * owns, the request. There is no SHELL, and TERM only when the request brings one.
 */
export const createEnvironment = (options: {
  user: User;
  settings: Settings;
  requested: Readonly<Record<string, string>>;
}): Record<string, string> => {
  const { user, settings, requested } = options;
  return {
    PATH: process.env.PATH ?? DEFAULT_PATH,
    HOME: user.home,
    USER: user.name,
    LOGNAME: user.name,
    ...settings.envVars,
    E2B_SANDBOX: 'true',
    ...(settings.sandboxId === undefined ? {} : { E2B_SANDBOX_ID: settings.sandboxId }),
    ...(settings.templateId === undefined ? {} : { E2B_TEMPLATE_ID: settings.templateId }),
    ...(settings.cpuCount === undefined ? {} : { SKERRY_CPU_COUNT: `${settings.cpuCount}` }),
    ...(settings.memoryMb === undefined ? {} : { SKERRY_MEMORY_MB: `${settings.memoryMb}` }),
    ...requested,
  };
};
