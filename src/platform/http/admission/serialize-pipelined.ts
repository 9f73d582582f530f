import type { Connection } from './connections.ts';

const HEAD_END = Buffer.from('\r\n\r\n');
const MARK = HEAD_END.length;
const [CR, LF] = HEAD_END;
const NOTHING = Buffer.alloc(0);

/**
 * Gives Node's parser one request at a time. What comes behind a request that is not answered yet waits in the socket's own buffer,
 * unread beyond that, and is looked at in a turn of its own. The parser alone decides what a request is: its bytes are only cut
 * where one may end, at an empty line or with the length that its head has named.
 */
export function serializePipelined(connection: Connection): void {
  const { socket } = connection;
  const [parse] = socket.listeners('data');
  if (parse === undefined) throw new TypeError('this socket has no HTTP behind it');
  /** The last bytes before, where an empty line may have begun. */
  let tail: Buffer = NOTHING;

  /** How much of these bytes surely belongs to no more than one request. */
  const pieceOf = (bytes: Buffer): number => {
    if (connection.bodyLeft > 0 && connection.isReadingBody()) return Math.min(connection.bodyLeft, bytes.length);
    if (tail.length > 0) {
      const seam = Buffer.concat([tail, bytes.subarray(0, MARK - 1)]).indexOf(HEAD_END);
      if (seam >= 0) return seam + MARK - tail.length;
    }
    return endOfHead(bytes);
  };
  const give = (piece: Buffer): void => {
    if (connection.bodyLeft > 0 && connection.isReadingBody()) connection.bodyLeft -= piece.length;
    else tail = tailOf(tail.length === 0 ? piece : Buffer.concat([tail, piece]));
    parse.call(socket, piece);
  };
  const resume = (): void => {
    connection.isWaiting = false;
    if (!socket.destroyed) socket.resume();
  };
  const wait = (rest: Buffer): void => {
    socket.pause();
    socket.unshift(rest);
    if (connection.isWaiting) return;
    connection.isWaiting = true;
    // In a turn of its own: others are heard between two requests of one connection.
    connection.response?.once('close', () => setImmediate(resume));
  };
  const take = (bytes: Buffer): void => {
    let rest = bytes;
    while (rest.length > 0 && !socket.destroyed) {
      // Behind an answer without an end it would wait for ever.
      if (connection.isStream) {
        socket.destroy();
      } else if (connection.isWaiting || connection.isAnswering()) {
        wait(rest);
        return;
      }
      const size = pieceOf(rest);
      give(size === rest.length ? rest : rest.subarray(0, size));
      rest = rest.subarray(size);
    }
  };

  socket.removeListener('data', parse as (bytes: Buffer) => void);
  socket.on('data', take);
  bypassStream(connection, (bytes) => {
    if (tail !== NOTHING || connection.isWaiting) return false;
    if (connection.isReadingBody()) {
      if (pieceOf(bytes) < bytes.length) return false;
      give(bytes);
      return true;
    }
    if (!isMark(bytes, bytes.length - MARK) || endOfHead(bytes) < bytes.length) return false;
    parse.call(socket, bytes);
    return true;
  });
}

/**
 * Nearly always what comes is one whole request, and nothing else waits: then the stream's own machinery, which costs as much as
 * the parser, is passed by.
 */
function bypassStream(connection: Connection, giveWhole: (bytes: Buffer) => boolean): void {
  const { socket } = connection;
  const push = socket.push;
  socket.push = (bytes: Buffer | null, encoding?: BufferEncoding): boolean => {
    const isPlain = bytes !== null && socket.readableFlowing === true && !socket.writableEnded && !connection.isStream;
    const isTaken = isPlain && socket.readableLength === 0 && !connection.isAnswering() && giveWhole(bytes);
    return isTaken || push.call(socket, bytes, encoding);
  };
}

/** Behind the first empty line; without one, behind all. Each one covers a fourth byte, so only these are looked at first. */
function endOfHead(bytes: Buffer): number {
  for (let at = MARK - 1; at < bytes.length; at += MARK) {
    if (bytes[at] !== CR && bytes[at] !== LF) continue;
    for (let from = at - MARK + 1; from <= at; from += 1) if (isMark(bytes, from)) return from + MARK;
  }
  return bytes.length;
}

function isMark(bytes: Buffer, from: number): boolean {
  return bytes[from] === CR && bytes[from + 1] === LF && bytes[from + 2] === CR && bytes[from + 3] === LF;
}

/** Where an empty line may have begun; nothing where these bytes end with a whole one. */
function tailOf(bytes: Buffer): Buffer {
  // A copy: the bytes around them may be many.
  return isMark(bytes, bytes.length - MARK) ? NOTHING : Buffer.from(bytes.subarray(-(MARK - 1)));
}
