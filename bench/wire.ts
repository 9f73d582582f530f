import { connect, type Socket } from 'node:net';

export interface WireAnswer {
  status: number;
  /** Size of header and body as sent. */
  bytes: number;
  /** Status line and headers. Empty if bodies are not kept. */
  head: string;
  /** Empty if bodies are not kept. */
  body: Buffer;
}

/** A keep-alive HTTP/1.1 connection with one request at a time. */
export interface Wire {
  ask(request: Buffer): Promise<WireAnswer>;
  close(): void;
}

interface Waiting {
  resolve(answer: WireAnswer): void;
  reject(error: Error): void;
}

interface Head {
  status: number;
  /** Null if the body is chunked. */
  length: number | null;
  size: number;
  text: string;
}

const HEAD_END = Buffer.from('\r\n\r\n');
/** Ends a chunked answer. With one request at a time no bytes follow it, and it occurs nowhere else in these answers. */
const LAST_CHUNK = Buffer.from('\r\n0\r\n\r\n');
const NOTHING = Buffer.alloc(0);

/** Parses as little of an answer as possible, because the client shares cores with the server under test. Keeps chunks as sent. */
export async function openWire(url: string, options: { keepBody: boolean }): Promise<Wire> {
  const { hostname, port } = new URL(url);
  const socket = await connectTo(hostname, Number(port));
  let waiting: Waiting | null = null;
  let head: Head | null = null;
  let kept: Buffer[] = [];
  let received = 0;
  let early: Buffer = NOTHING;
  let tail: Buffer = NOTHING;

  const fail = (error: Error): void => {
    const { reject } = waiting ?? { reject: () => {} };
    waiting = null;
    socket.destroy();
    reject(error);
  };
  const finish = ({ status, size, text }: Head): void => {
    const answer = { status, bytes: size + received, head: options.keepBody ? text : '', body: Buffer.concat(kept) };
    const { resolve } = waiting ?? { resolve: () => {} };
    waiting = null;
    head = null;
    kept = [];
    tail = NOTHING;
    received = 0;
    resolve(answer);
  };
  const isWhole = ({ length }: Head, chunk: Buffer): boolean => {
    if (length === null) {
      tail = Buffer.concat([tail, chunk.subarray(-LAST_CHUNK.length)]).subarray(-LAST_CHUNK.length);
      return tail.equals(LAST_CHUNK);
    }
    if (received > length) throw new Error('more bytes than the answer said');
    return received === length;
  };
  const read = (given: Buffer): void => {
    let chunk = given;
    if (head === null) {
      const all = early.length === 0 ? chunk : Buffer.concat([early, chunk]);
      const end = all.indexOf(HEAD_END);
      early = end < 0 ? all : NOTHING;
      if (end < 0) return;
      head = readHead(all, end);
      chunk = all.subarray(head.size);
    }
    received += chunk.length;
    if (options.keepBody) kept.push(chunk);
    if (isWhole(head, chunk)) finish(head);
  };
  socket.on('data', (chunk) => {
    try {
      read(chunk);
    } catch (error) {
      fail(error instanceof Error ? error : new Error(String(error)));
    }
  });
  socket.on('error', fail);
  socket.on('close', () => fail(new Error('the server closed the connection')));
  return {
    ask: (request) =>
      new Promise((resolve, reject) => {
        if (waiting !== null || socket.destroyed) return reject(new Error('the connection is busy or closed'));
        waiting = { resolve, reject };
        socket.write(request);
      }),
    close: () => void socket.destroy(),
  };
}

function connectTo(host: string, port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, noDelay: true });
    socket.once('error', reject);
    socket.once('connect', () => {
      socket.off('error', reject);
      resolve(socket);
    });
  });
}

function readHead(bytes: Buffer, end: number): Head {
  const text = bytes.toString('latin1', 0, end);
  const length = /\r\ncontent-length: *(\d+)/i.exec(text)?.[1];
  if (length === undefined && !/\r\ntransfer-encoding: *chunked/i.test(text))
    throw new Error(`an answer of no length: ${text.slice(0, 40)}`);
  return {
    status: Number(text.slice(9, 12)),
    length: length === undefined ? null : Number(length),
    size: end + HEAD_END.length,
    text,
  };
}

export interface WireRequest {
  method: 'GET' | 'POST';
  path: string;
  headers?: Readonly<Record<string, string>>;
  body?: unknown;
}

/** Builds the whole request in advance, so that sending it takes one write. */
export function requestBytes(url: string, { method, path, headers = {}, body }: WireRequest): Buffer {
  const content = body === undefined ? null : Buffer.from(JSON.stringify(body));
  const all: Record<string, string> = {
    host: new URL(url).host,
    accept: 'application/json',
    ...(content === null ? {} : { 'content-type': 'application/json' }),
    ...(content === null && method === 'GET' ? {} : { 'content-length': String(content?.length ?? 0) }),
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.concat([Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`), content ?? NOTHING]);
}

/** Sends one request and parses the body as JSON. Throws unless the status is 200. */
export async function askOnce(wire: Wire, url: string, request: WireRequest): Promise<Record<string, unknown>> {
  const { status, body } = await wire.ask(requestBytes(url, request));
  if (status !== 200) throw new Error(`${request.path} was answered ${status}: ${body.toString().slice(0, 300)}`);
  return JSON.parse(body.toString()) as Record<string, unknown>;
}
