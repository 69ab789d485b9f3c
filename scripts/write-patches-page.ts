// Writes docs/patches.md from the headings of all workarounds.
import { writeFileSync } from 'node:fs';
import { toPatchesPage } from './patches-page.ts';
import { readWorkarounds } from './read-workarounds.ts';

writeFileSync('docs/patches.md', toPatchesPage(readWorkarounds()));
