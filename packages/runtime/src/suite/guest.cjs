// Run inside a sandbox by the runtime suite: the transport of an agent, and one route that runs a command.
const { spawn } = require('node:child_process');
const { renameSync, rmSync } = require('node:fs');
const { createServer } = require('node:http');
const { connect } = require('node:net');

delete process.env.LD_LIBRARY_PATH;

const run = ({ argv, uid = 0 }) =>
  new Promise((resolve) => {
    const child = spawn(argv[0], argv.slice(1), { uid, gid: uid, cwd: '/', detached: true });
    let output = '';
    const take = (chunk) => {
      if (output.length < 100_000) output += chunk;
    };
    child.stdout.on('data', take);
    child.stderr.on('data', take);
    child.on('error', (error) => resolve({ code: 127, output: String(error) }));
    child.on('close', (code) => resolve({ code, output }));
  });

/** As the agent does, see packages/envd/src/process/self-test.ts. */
const selfTest = async (response) => {
  const { code, output } = await run({ argv: ['/.envd/tini', '--version'] });
  response.writeHead(code === 0 ? 200 : 500).end(code === 0 ? '' : output);
};

const handle = async (request, response) => {
  if (request.url === '/self-test') return selfTest(response);
  if (request.url !== '/run') {
    response.end('ok');
    return;
  }
  let body = '';
  for await (const chunk of request) body += chunk;
  response.end(JSON.stringify(await run(JSON.parse(body))));
};

const tunnel = (request, socket) => {
  const upstream = connect({
    host: '127.0.0.1',
    port: Number(request.url.split(':')[1]),
    allowHalfOpen: true,
  });
  upstream.on('connect', () => {
    socket.write('HTTP/1.1 200 OK\r\n\r\n');
    socket.pipe(upstream).pipe(socket);
  });
  upstream.on('error', () => socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n'));
  socket.on('error', () => upstream.destroy());
};

const listen = ({ server, path }) =>
  new Promise((resolve) => {
    server.listen(`${path}.new`, () => {
      renameSync(`${path}.new`, path);
      resolve();
    });
  });

const toPlace = (name, server) => ({ server, path: `${process.env.ENVD_SOCKET_DIR}/${name}` });
const places = [
  toPlace('http.sock', createServer(handle)),
  toPlace('control.sock', createServer(handle).on('connect', tunnel)),
];

// As the agent does, see packages/envd/src/host/host-sockets.ts.
let isWanted = false;
let isOpen = false;
let turn = Promise.resolve();
const want = (wanted) => {
  isWanted = wanted;
  turn = turn.then(async () => {
    if (isWanted === isOpen) return;
    isOpen = isWanted;
    for (const place of places) await (isOpen ? listen(place) : close(place));
  });
};
const close = ({ server, path }) => {
  server.close();
  server.closeAllConnections();
  rmSync(path, { force: true });
};
process.on('SIGUSR2', () => want(false));
process.on('SIGCONT', () => want(true));
setInterval(() => {}, 2 ** 30);
want(true);
