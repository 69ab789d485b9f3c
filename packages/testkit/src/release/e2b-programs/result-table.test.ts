import { expect, it } from 'vitest';
import { toResultTables } from './result-table.ts';

it('writes a table for each program, without what differs from run to run', () => {
  const error = '\nno i0123456789abcdefghij at http://127.0.0.1:4000 <a|b>\n    at somewhere';
  const first = { name: 'one 1.0.0', results: [{ call: 'create' }, { call: 'kill', error }] };
  const second = { name: 'two 2.0.0', results: [{ call: 'list', error: '' }] };
  expect(toResultTables([first, second])).toBe(`### one 1.0.0

| Call     | Result                         |
| -------- | ------------------------------ |
| \`create\` | works                          |
| \`kill\`   | no ID at http://HOST &lt;a\\|b> |

### two 2.0.0

| Call   | Result                     |
| ------ | -------------------------- |
| \`list\` | an error without a message |`);
});
