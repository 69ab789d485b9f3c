// Runs one example by its name: npm run -s example hello
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

const names = readdirSync(import.meta.dirname)
  .filter((file) => file.endsWith('.ts') && file !== 'run.ts')
  .map((file) => file.slice(0, -3));
const [name = ''] = process.argv.slice(2);
if (!names.includes(name)) {
  console.error(`usage: npm run -s example NAME\nNAME is one of: ${names.join(', ')}`);
  process.exit(2);
}
if (!process.env.SKERRY_API_KEY && !process.env.E2B_API_KEY) {
  console.error(
    'start a server with "npm run -s skerry -- up", and paste the line "export …" that it prints',
  );
  process.exit(2);
}
await import(join(import.meta.dirname, `${name}.ts`));
