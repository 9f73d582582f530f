import { connect, type Socket } from 'node:net';

export interface Head {
  status: number;
  /** Size of header and body together. */
  size: number;
}

export interface ConnectionHooks {
  /** Returns the next request, the milliseconds to wait before asking for it, or null at the end. */
  next(): Buffer | number | null;
  /** Called when an answer is complete. */
  answered(status: number, bytes: number): void;
}

const HEADER_LIMIT = 16_384;
const CR = 13;
const COLON = 58;
const SPACE = 32;
const ZERO = 48;
const LOWER = 0x20;
const NAME = Buffer.from('content-length');

// All connections share one buffer, because each has used its bytes before the next one reads.
const incoming = Buffer.allocUnsafe(262_144);

/**
 * Keeps one connection busy. Parses as little as possible and keeps nothing, because the client shares the machine with the server under
 * test. Resolves when there are no more requests. Rejects on a malformed answer.
 */
export function runConnection(host: string, port: number, hooks: ConnectionHooks): Promise<void> {
  return new Promise((resolve, reject) => {
    /** Bytes of the current answer that are still to come. At 0 a header comes next. */
    let left = 0;
    let head: Head = { status: 0, size: 0 };
    /** The beginning of a header that arrived in parts. */
    let early: Buffer | null = null;
    const ask = (): void => {
      const request = hooks.next();
      if (request === null) return void socket.destroy();
      if (typeof request === 'number') return void setTimeout(ask, request);
      socket.write(request);
    };
    const fail = (error: Error): boolean => {
      reject(error);
      socket.destroy();
      return false;
    };
    /** Returns false while the header is incomplete. */
    const begin = (count: number): boolean => {
      const bytes = early === null ? incoming : Buffer.concat([early, incoming.subarray(0, count)]);
      const length = early === null ? count : bytes.length;
      const found = readHead(bytes, length);
      early = found === null ? Buffer.from(bytes.subarray(0, length)) : null;
      if (found === null && length > HEADER_LIMIT) throw new Error('a header without an end');
      if (found === null) return false;
      head = found;
      left = found.size - length;
      return true;
    };
    const read = (count: number): void => {
      if (left > 0) left -= count;
      else if (!begin(count)) return;
      if (left > 0) return;
      if (left < 0) throw new Error('more bytes than the answer said');
      hooks.answered(head.status, head.size);
      ask();
    };
    const callback = (count: number): boolean => {
      try {
        read(count);
        return true;
      } catch (error) {
        return fail(error instanceof Error ? error : new Error(String(error)));
      }
    };
    const socket: Socket = connect({ host, port, noDelay: true, onread: { buffer: incoming, callback } });
    socket.once('connect', ask);
    socket.once('error', fail);
    socket.once('close', () => resolve());
  });
}

/** Returns null while the header is incomplete. Supports answers with a content-length, and 304, which has no body. */
export function readHead(bytes: Buffer, length: number): Head | null {
  let contentLength = -1;
  let line = 0;
  for (let at = 0; at + 3 < length; at += 1) {
    if (bytes[at] !== CR) continue;
    if (bytes[at + 2] === CR) {
      const status = statusIn(bytes);
      if (contentLength < 0 && status !== 304) throw new Error(`an answer (${status}) without a content-length`);
      return { status, size: at + 4 + (status === 304 ? 0 : contentLength) };
    }
    if (contentLength < 0) contentLength = lengthIn(bytes, line, at);
    line = at + 2;
    at += 2;
  }
  return null;
}

/** Parses the digits after `HTTP/1.1 `. */
function statusIn(bytes: Buffer): number {
  return ((bytes[9] ?? 0) - ZERO) * 100 + ((bytes[10] ?? 0) - ZERO) * 10 + (bytes[11] ?? 0) - ZERO;
}

/** Parses a Content-Length line. Returns -1 for any other line. */
function lengthIn(bytes: Buffer, from: number, to: number): number {
  if (bytes[from + NAME.length] !== COLON) return -1;
  for (let at = 0; at < NAME.length; at += 1) {
    if (((bytes[from + at] ?? 0) | LOWER) !== NAME[at]) return -1;
  }
  let value = 0;
  for (let at = from + NAME.length + 1; at < to; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte !== SPACE) value = value * 10 + (byte - ZERO);
  }
  return value;
}
