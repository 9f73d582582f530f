import { mkdirSync, readFileSync, statSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { createInterface } from 'node:readline';

// Runs as another user of the machine. Root starts this program, which then drops root's rights, so that it is readable wherever the
// checkout is. Reads one command with an argument per line, and answers each with one line.
process.chdir('/');
process.setgroups?.([]);
process.setgid?.(65_534);
process.setuid?.(65_534);

/** Number of bytes sent to every client that connects. */
const FLOOD_BYTES = 400 * 1024 * 1024;
const PIECE = Buffer.alloc(1024 * 1024, '7');

const names = new Set<string>();
const look = (): void => {
  for (const [, name = ''] of readFileSync('/proc/net/unix', 'utf8').matchAll(/ @(openaisle-.+)$/gm)) names.add(name);
};
setInterval(look, 2);

function flood(socket: Socket): void {
  socket.on('error', () => {});
  let sent = 0;
  const more = (): void => {
    while (sent < FLOOD_BYTES) {
      sent += PIECE.length;
      if (!socket.write(PIECE)) return;
    }
    socket.end();
  };
  socket.on('drain', more);
  more();
}

let asked = 0;
/** Takes the lock as soon as it is free. */
function hold(name: string): Promise<string> {
  return new Promise((resolve) => {
    const server = createServer((socket) => {
      asked += 1;
      flood(socket);
    });
    server.on('error', () => setTimeout(() => server.listen({ path: `\0${name}` }), 1));
    server.on('listening', () => resolve('held'));
    server.listen({ path: `\0${name}` });
  });
}

const commands: Readonly<Record<string, (argument: string) => Promise<string> | string>> = {
  hold,
  names: () => JSON.stringify([...names]),
  asked: () => String(asked),
  /** Returns the lock name that the previous version used for a folder. */
  nameOf: (path) => {
    const { dev, ino } = statSync(path, { bigint: true });
    return `openaisle-data-${dev}-${ino}`;
  },
  make: (path) => {
    mkdirSync(path, { recursive: true, mode: 0o700 });
    return 'made';
  },
  /** Connects to a path and returns the kernel's answer. */
  reach: (path) =>
    new Promise((resolve) => {
      const socket = connect({ path });
      socket.once('connect', () => resolve('connected'));
      socket.once('error', (error) => resolve('code' in error ? String(error.code) : 'refused'));
    }),
  crowd: (name) => {
    for (let count = 0; count < 1_000; count += 1) connect({ path: `\0${name}` }).on('error', () => {});
    return 'there';
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const [command = '', ...rest] = line.split(' ');
  const answer = await commands[command]?.(rest.join(' '));
  process.stdout.write(`${answer ?? `no command ${command}`}\n`);
}
