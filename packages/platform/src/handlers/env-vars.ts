import { invalid } from '@skerry/contract/error';

// execve(2): one "name=value" with its final NUL may take 32 pages, and all of them together with the arguments a
// quarter of the stack. Beyond these limits every command would fail.
const MAX_ENTRY_BYTES = 131_071;
const MAX_TOTAL_BYTES = 1_048_576;

/**
 * Checks that a process can be started with these variables. Throws `invalid_argument`, naming the variable but never
 * its value, which may be a secret.
 */
export const parseEnvVars = (field: string, variables: Record<string, string>): Record<string, string> => {
  let totalBytes = 0;
  for (const [name, value] of Object.entries(variables)) {
    const shown = `${field}.${name.slice(0, 80)}`;
    if (name === '' || /[=\0]/.test(name)) {
      throw invalid(
        `${field} has the name ${JSON.stringify(name.slice(0, 80))}: it must not be empty or contain "=" or NUL`,
      );
    }
    if (value.includes('\0')) throw invalid(`${shown} must not contain NUL`);
    const entryBytes = Buffer.byteLength(name) + Buffer.byteLength(value) + 2;
    if (entryBytes > MAX_ENTRY_BYTES) {
      throw invalid(
        `${shown} must be at most ${MAX_ENTRY_BYTES} bytes including its name, got ${entryBytes}`,
      );
    }
    totalBytes += entryBytes;
  }
  if (totalBytes > MAX_TOTAL_BYTES) {
    throw invalid(`${field} must be at most ${MAX_TOTAL_BYTES} bytes in total, got ${totalBytes}`);
  }
  return variables;
};
