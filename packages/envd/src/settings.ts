/** What the host has told this agent about its sandbox. Replaced as a whole by each initialisation. */
export interface Settings {
  sandboxId: string | undefined;
  templateId: string | undefined;
  /** Global variables of every process, below the request's own. */
  envVars: Readonly<Record<string, string>>;
  /** Without one the agent answers everybody who reaches it. */
  accessToken: string | undefined;
  defaultUser: string;
  /** Used for an empty path and for processes without `cwd`; the user's home without it. */
  defaultWorkdir: string | undefined;
}

/** Holds the settings; `current` is the one in force and never changes under a reader. */
export interface SettingsStore {
  readonly current: Settings;
  replace(next: Settings): void;
}

/** Of a sandbox that nobody has initialised: open, and root is the default user. */
export const NEW_SETTINGS: Settings = {
  sandboxId: undefined,
  templateId: undefined,
  envVars: {},
  accessToken: undefined,
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
