/** The size of the terminal, in cells. */
export const size = { columns: 92, rows: 22 };

/** What is typed, line by line: each when the one before it has ended. */
export const lines = [
  'id=$(skerry sandbox create --timeout 5m)',
  `skerry sandbox exec "$id" -- 'echo 41 > state; python3 --version'`,
  'copy=$(skerry sandbox fork --timeout 5m "$id")',
  `skerry sandbox exec "$copy" -- 'echo $(($(cat state) + 1))'`,
  'skerry sandbox pause "$id"',
  'skerry sandbox list',
  'skerry sandbox resume "$id"',
  'skerry snapshot create --name prepared "$id"',
  'skerry sandbox run --template prepared -- cat state',
  'skerry sandbox kill --all',
];
