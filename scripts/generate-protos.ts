// Writes the messages and services of a folder of .proto files as TypeScript:
//   node generate-protos.ts PROTOS TARGET        both relative to the working directory
import { join } from 'node:path';
import { writeProtoMessages } from './generate/proto-messages.ts';

const [protos, folder] = process.argv.slice(2);
if (protos === undefined || folder === undefined) throw new Error('usage: generate-protos.ts PROTOS TARGET');
const programs = join(import.meta.dirname, 'node_modules/.bin');
writeProtoMessages({ protos, folder, importExtension: 'ts', programs });
