import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** Runs a module in a process for which the programs of the host with these names are those at the given paths. Resolves with its output. */
export const runWithReplacedPrograms = async (
  replaced: Readonly<Record<string, string>>,
  script: string,
): Promise<string> => {
  const hide = Object.entries(replaced).map(([name, path]) => `mount --bind ${path} $(command -v ${name})`);
  const args = ['--mount', '--propagation', 'private', 'sh', '-c', `${hide.join('; ')}; exec "$@"`, 'sh'];
  const node = [process.execPath, '--input-type=module-typescript', '-e', script];
  return (await promisify(execFile)('unshare', [...args, ...node])).stdout;
};
