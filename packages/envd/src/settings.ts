/** The settings of the sandbox that the host has sent. Each initialization replaces them as a whole. */
export interface Settings {
  sandboxId: string | undefined;
  templateId: string | undefined;
  /** Global variables of every process, below the request's own. */
  envVars: Readonly<Record<string, string>>;
  /** SHA-256 of the access token, in hex. Without one the agent answers every caller. */
  accessTokenSha256: string | undefined;
  /** What the edge shows with each request that it has checked. */
  edgeNonce: string | undefined;
  /** The limits of the sandbox. */
  cpuCount: number | undefined;
  memoryMb: number | undefined;
  defaultUser: string;
  /** Used for an empty path and for processes without `cwd`; the user's home without it. */
  defaultWorkdir: string | undefined;
}

/** Holds the settings; `current` is the one in force and never changes under a reader. */
export interface SettingsStore {
  readonly current: Settings;
  replace(next: Settings): void;
}

/** The settings before the first initialization: no token, and root is the default user. */
export const NEW_SETTINGS: Settings = {
  sandboxId: undefined,
  templateId: undefined,
  envVars: {},
  accessTokenSha256: undefined,
  edgeNonce: undefined,
  cpuCount: undefined,
  memoryMb: undefined,
  defaultUser: 'root',
  defaultWorkdir: undefined,
};

/** Starts with `NEW_SETTINGS`. */
export const createSettingsStore = (): SettingsStore => {
  let current = NEW_SETTINGS;
  return {
    get current() {
      return current;
    },
    replace(next) {
      current = next;
    },
  };
};
