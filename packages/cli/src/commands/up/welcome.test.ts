import { expect, it } from 'vitest';
import { toWelcome } from './welcome.ts';

const address = {
  apiUrl: 'http://localhost:4000',
  sandboxUrl: 'http://localhost:4000',
  domain: 'localhost:4000',
  apiKey: 'e2b_1',
};
const isolation = ['container: for trusted code', 'gvisor: for hostile code'];

it('prints lines to paste in the form in which the program was called', () => {
  const text = toWelcome({ address, isolation, invocation: { command: 'skerry' }, dataDir: undefined });
  expect(text).toContain(`In another terminal:

  export SKERRY_API_URL=http://localhost:4000 SKERRY_DOMAIN=localhost:4000 SKERRY_API_KEY=e2b_1
  skerry sandbox run -- python3 -c 'print("hello")'

For`);
  expect(text).toMatch(/\n {2}skerry down\n$/);
});

it('shows the level of isolation below the addresses, one thing a line', () => {
  const text = toWelcome({ address, isolation, invocation: { command: 'skerry' }, dataDir: undefined });
  expect(text).toMatch(
    /localhost:4000\n {2}isolation {2}container: for trusted code\n {13}gvisor: for hostile code\n\n/,
  );
});

it('ends the server as the user who has started it, while other lines need the key alone', () => {
  const text = toWelcome({
    address,
    isolation,
    invocation: { command: 'skerry', bySudo: true },
    dataDir: undefined,
  });
  expect(text).toMatch(/\n {2}skerry sandbox run [\s\S]*\n {2}sudo skerry down\n$/);
});

it('enters the checkout first, offers an example of it, and names a data folder that is not the default', () => {
  const invocation = { command: 'npm run -s skerry --', folder: '/my clone' };
  const text = toWelcome({ address, isolation, invocation, dataDir: '/my data' });
  expect(text).toContain("\n  cd '/my clone'\n  export ");
  expect(text).toContain('\n  npm run -s skerry -- sandbox run -- ');
  expect(text).toContain('\n  npm run -s example hello\n');
  expect(text).toMatch(/\n {2}npm run -s skerry -- down --data '\/my data'\n$/);
});
