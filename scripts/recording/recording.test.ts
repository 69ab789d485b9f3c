import { readFileSync } from 'node:fs';
import xterm from '@xterm/headless';
import { describe, expect, it } from 'vitest';
import { readScreen } from './screen.ts';
import { lines, size } from './session.ts';
import { toSvg } from './svg.ts';

const toXml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

it('draws a screen with its colours and its cursor, and each row once', async () => {
  const terminal = new xterm.Terminal({ cols: 20, rows: 3, allowProposedApi: true });
  await new Promise<void>((resolve) => terminal.write('\u001b[1;32m$\u001b[0m a <b>\r\n  c', resolve));
  const screen = readScreen(terminal);
  expect(screen.cursor).toEqual({ column: 3, row: 1 });
  expect(screen.rows.map((spans) => spans.map(({ text, column }) => [column, text]))).toEqual([
    [
      [0, '$'],
      [2, 'a <b>'],
    ],
    [[2, 'c']],
    [],
  ]);
  const frames = [
    { screen, durationMs: 1000 },
    { screen, durationMs: 3000 },
  ];
  const svg = toSvg(frames, { columns: 20, rows: 3, title: 'x & y' });
  expect(svg).toContain('<title>x &amp; y</title>');
  expect(svg).toContain('animation:play 4.00s');
  expect(svg).toMatch(/@keyframes play\{0\.00%\{transform:translateX\(0px\)\}25\.00%\{/);
  expect(svg.match(/class="c2 b">\$<\/text>/g)).toHaveLength(1);
  expect(svg.match(/a &lt;b&gt;<\/text>/g)).toHaveLength(1);
  expect(svg.match(/<use /g)).toHaveLength(4);
});

describe('the recording of the README', () => {
  const svg = readFileSync(new URL('../../docs/terminal.svg', import.meta.url), 'utf8');

  it('is of the session that "pnpm record" types', () => {
    const missing = lines.filter((line) => !svg.includes(`>${toXml(line)}</text>`));
    expect(missing).toEqual([]);
    expect(svg).toContain(`viewBox="0 0 ${Math.ceil(size.columns * 8.4 + 24)} `);
  });

  it('is small, and has no key, no path of a machine and no program', () => {
    expect(svg.length).toBeLessThan(200 * 1024);
    expect(
      svg.match(/e2b_|\/(tmp|root|home|work|var)\b|<script|https?:(?!\/\/www\.w3\.org\/2000\/svg")/g),
    ).toBe(null);
  });
});
