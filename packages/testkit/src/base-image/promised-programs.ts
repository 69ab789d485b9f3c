/** A program that the template `base` has. */
export interface PromisedProgram {
  name: string;
  /** Prints the version in its first line, and succeeds. */
  command: string;
  /** What the first line must match; the version is its first group. */
  pattern: RegExp;
}

const number = String.raw`\d[\w.+~:-]*`;
const program = (name: string, command = `${name} --version`, before = '.*?'): PromisedProgram => ({
  name,
  command,
  pattern: new RegExp(`^${before}v?(${number})`),
});

/** What docs/base-image.md lists, and a test runs. */
export const promisedPrograms: readonly PromisedProgram[] = [
  program('python3'),
  program('python'),
  program('pip'),
  program('node'),
  program('npm'),
  program('npx'),
  program('git'),
  program('gcc', 'gcc -dumpfullversion'),
  program('g++', 'g++ -dumpfullversion'),
  program('make'),
  program('curl'),
  program('wget'),
  program('jq'),
  program('rg'),
  program('unzip', 'unzip -v'),
  program('less'),
  program('vi', 'vi --version'),
  program('nano'),
  program('ssh', 'ssh -V', 'OpenSSH_'),
  program('ps'),
  program('ip', 'ip -V', 'ip utility, iproute2-'),
  program('tput', 'tput -V'),
  program('bash'),
  program('sudo', 'sudo --version'),
];

/** Locales, as `locale -a` prints them. */
export const promisedLocales: readonly string[] = ['C.utf8', 'en_US.utf8'];

/** Values of `TERM` that are known on every distribution. */
export const promisedTerminals: readonly string[] = [
  ...['xterm-256color', 'screen-256color', 'tmux-256color', 'rxvt-unicode-256color', 'st-256color'],
  ...['alacritty', 'foot', 'konsole', 'vscode', 'xterm-kitty'],
];

/** Known where the distribution has them. */
export const newerTerminals: readonly string[] = ['xterm-ghostty', 'wezterm'];
