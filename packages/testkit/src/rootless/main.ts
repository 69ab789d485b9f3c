// Runs a command as an ordinary user: main DIR IMAGES COMMAND… Its mounts must be private.
import { runAsUser } from '@skerry/runtime/testing';

const [dir = '', imagesDir = '', ...command] = process.argv.slice(2);
await runAsUser({ dir, imagesDir, command });
