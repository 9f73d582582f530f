import { connect } from 'node:net';
import { serveOrders } from '../child.ts';

/** Orders for the listeners. They run in their own process, so that reading for thousands does not delay the timed requests. */
export type ListenOrder = { act: 'open'; port: number; count: number } | { act: 'look' } | { act: 'close' };

export interface ListenAnswer {
  open: number;
  /** The last event that all clients have. */
  slowest: number;
  fastest: number;
  faults: string[];
}

/** Number of loopback addresses, so that clients come from many addresses as in production. */
const ADDRESSES = 50;
/** Number of connections opened at once. Smaller than the number of connections that may wait until the server accepts them. */
const AT_ONCE = 200;
/** One client in this many also reads the records. */
const READS_RECORDS = 50;
const MAX_FAULTS = 20;
const EVENT = /^id: (\d+)\nevent: ([a-z_]+)\ndata: (\{.*\})$/;

interface Client {
  index: number;
  /** The last event that the client has. Null until the server has sent the start position. */
  last: number | null;
  close(): void;
}

const clients: Client[] = [];
const faults: string[] = [];

function addFault({ index }: Client, text: string): void {
  if (faults.length < MAX_FAULTS) faults.push(`client ${index}: ${text}`);
}

/** Resolves when the server has sent the start position. */
function listen(port: number, index: number): Promise<Client> {
  return new Promise((resolve, reject) => {
    const localAddress = `127.0.0.${2 + (index % ADDRESSES)}`;
    const socket = connect({ port, host: '127.0.0.1', localAddress, noDelay: true });
    let wanted = true;
    const close = (): void => {
      wanted = false;
      socket.destroy();
    };
    const client: Client = { index, last: null, close };
    let rest = '';
    socket.setEncoding('latin1');
    socket.on('data', (chunk) => {
      const blocks = (rest + String(chunk)).split('\n\n');
      rest = blocks.pop() ?? '';
      for (const block of blocks) {
        if (client.last !== null) takeBlock(client, block);
        else if (takeGreeting(client, block)) resolve(client);
        else reject(new Error(`answered ${block.slice(0, 200)}`));
      }
    });
    socket.on('error', reject);
    socket.on('close', () => {
      if (wanted) addFault(client, 'closed by the server');
      reject(new Error('closed'));
    });
    socket.once('connect', () => socket.write('GET /api/events/stream HTTP/1.1\r\nHost: market\r\n\r\n'));
  });
}

/** Parses the greeting together with the answer's head. */
function takeGreeting(client: Client, block: string): boolean {
  const [, id] = /\nid: (\d+)$/.exec(block) ?? [];
  if (id === undefined || !block.startsWith('HTTP/1.1 200 ')) return false;
  client.last = Number(id);
  return true;
}

function takeBlock(client: Client, block: string): void {
  if (block === ':') return;
  const [, text = '', kind, data = ''] = EVENT.exec(block) ?? [];
  const id = Number(text);
  if (id !== (client.last ?? 0) + 1) addFault(client, `after ${client.last} comes ${block.slice(0, 80)}`);
  if (client.index % READS_RECORDS === 0) {
    const record = JSON.parse(data) as { id: number; kind: string };
    if (record.id !== id || record.kind !== kind) addFault(client, `${id} holds ${record.id}`);
  }
  client.last = id;
}

async function runOrder(order: ListenOrder): Promise<ListenAnswer> {
  if (order.act === 'open') {
    for (let begun = 0; begun < order.count; begun += AT_ONCE) {
      const size = Math.min(AT_ONCE, order.count - begun);
      clients.push(...(await Promise.all(Array.from({ length: size }, (_, at) => listen(order.port, begun + at)))));
    }
  }
  if (order.act === 'close') for (const client of clients.splice(0)) client.close();
  const places = clients.map(({ last }) => last ?? 0);
  const slowest = places.reduce((least, place) => Math.min(least, place), Number.POSITIVE_INFINITY);
  const fastest = places.reduce((most, place) => Math.max(most, place), 0);
  return { open: clients.length, slowest, fastest, faults: faults.splice(0) };
}

serveOrders(runOrder);
