// What the memory tests keep alive inside: a counter, a child on pipes, a deleted file and a unix socket that reports
// all three.
const { spawn } = require('node:child_process');
const { openSync, readSync, unlinkSync, watch, writeFileSync, writeSync } = require('node:fs');
const { createServer } = require('node:net');

let count = 0;
setInterval(() => count++, 10);

const child = spawn('/bin/sh', ['-c', 'n=0; while read line; do n=$((n+1)); echo "$line $n"; done']);
const waiting = [];
child.stdout.on('data', (text) => waiting.shift()(String(text).trim()));
const ask = (line) =>
  new Promise((resolve) => {
    waiting.push(resolve);
    child.stdin.write(`${line}\n`);
  });

writeFileSync('/root/deleted', 'still here');
const deleted = openSync('/root/deleted', 'r+');
unlinkSync('/root/deleted');

// In the agent's folder, which also has the agent's log.
const log = openSync('/run/envd/counter.log', 'a');

let seen = 0;
writeFileSync('/root/watched', '');
watch('/root/watched', () => seen++);

createServer(async (socket) => {
  writeSync(log, `${count}\n`);
  writeFileSync('/root/watched', String(count));
  const bytes = Buffer.alloc(10);
  readSync(deleted, bytes, 0, 10, 0);
  const echo = await ask('line');
  setTimeout(() => socket.end(JSON.stringify({ count, echo, deleted: String(bytes), seen: seen > 0 })), 30);
}).listen('/root/counter.sock');
