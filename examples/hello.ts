// Runs a Python program that came from elsewhere, and prints what it wrote.
import { Sandbox } from '@skerry/sdk';

const sandbox = await Sandbox.create({ timeoutMs: 300_000 });
try {
  await sandbox.files.write('hello.py', 'print("hello from a sandbox")');
  const { stdout } = await sandbox.commands.run('python3 hello.py');
  console.log(stdout);
} finally {
  await sandbox.kill();
}
