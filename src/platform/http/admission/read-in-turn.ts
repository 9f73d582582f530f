import type { Connection } from './connection.ts';

const HEAD_END = Buffer.from('\r\n\r\n');
const MARK = HEAD_END.length;
const NOTHING = Buffer.alloc(0);

export interface TurnReader {
  /** The head of a request has just been read, and its body is next. */
  begin(): void;
  /** More has come behind the request that is being answered. */
  isWaiting(): boolean;
}

/**
 * Gives Node's parser one request at a time. What comes behind a request that is not answered yet waits in the socket's own buffer,
 * unread beyond that, and is looked at in a turn of its own. The parser alone decides what a request is: its bytes are only cut
 * where one may end, at an empty line or with the length that its head has named.
 */
export function readInTurn(connection: Connection): TurnReader {
  const { socket } = connection;
  const [parse] = socket.listeners('data');
  if (parse === undefined) throw new TypeError('this socket has no HTTP behind it');
  let bodyLeft = 0;
  /** The last bytes before, where an empty line may have begun. */
  let tail: Buffer = NOTHING;
  let isWaiting = false;

  /** How much of these bytes surely belongs to no more than one request. */
  const pieceOf = (bytes: Buffer): number => {
    if (bodyLeft > 0 && connection.isReadingBody()) return Math.min(bodyLeft, bytes.length);
    if (tail.length > 0) {
      const seam = Buffer.concat([tail, bytes.subarray(0, MARK - 1)]).indexOf(HEAD_END);
      if (seam >= 0) return seam + MARK - tail.length;
    }
    const end = bytes.indexOf(HEAD_END);
    return end < 0 ? bytes.length : end + MARK;
  };
  const give = (piece: Buffer): void => {
    if (bodyLeft > 0 && connection.isReadingBody()) bodyLeft -= piece.length;
    else tail = tailOf(tail.length === 0 ? piece : Buffer.concat([tail, piece]));
    parse.call(socket, piece);
  };
  const goOn = (): void => {
    isWaiting = false;
    if (!socket.destroyed) socket.resume();
  };
  const wait = (rest: Buffer): void => {
    socket.pause();
    socket.unshift(rest);
    if (isWaiting) return;
    isWaiting = true;
    // In a turn of its own: others are heard between two requests of one connection.
    connection.response?.once('close', () => setImmediate(goOn));
  };
  const take = (bytes: Buffer): void => {
    let rest = bytes;
    while (rest.length > 0 && !socket.destroyed) {
      // Behind an answer without an end it would wait for ever.
      if (connection.isStream) return void socket.destroy();
      if (isWaiting || connection.isAnswering()) return wait(rest);
      const size = pieceOf(rest);
      give(size === rest.length ? rest : rest.subarray(0, size));
      rest = rest.subarray(size);
    }
  };

  socket.removeListener('data', parse as (bytes: Buffer) => void);
  socket.on('data', take);
  passQuickly(connection, {
    isOne: (bytes) => !isWaiting && tail.length === 0 && pieceOf(bytes) === bytes.length,
    give,
  });
  return {
    begin: () => {
      const length = Number(connection.request?.headers['content-length']);
      bodyLeft = length > 0 ? length : 0;
    },
    isWaiting: () => isWaiting,
  };
}

/**
 * Nearly always what comes is one whole request, and nothing else waits: then the stream's own machinery, which costs as much as
 * the parser, is passed by.
 */
function passQuickly(
  connection: Connection,
  { isOne, give }: { isOne(bytes: Buffer): boolean; give(bytes: Buffer): void },
): void {
  const { socket } = connection;
  const push = socket.push;
  socket.push = (bytes: Buffer | null, encoding?: BufferEncoding): boolean => {
    const isPlain = bytes !== null && socket.readableFlowing === true && !socket.writableEnded && !connection.isStream;
    if (!isPlain || socket.readableLength > 0 || connection.isAnswering() || !isOne(bytes)) {
      return push.call(socket, bytes, encoding);
    }
    give(bytes);
    return true;
  };
}

/** Where an empty line may have begun; nothing where these bytes end with a whole one. */
function tailOf(bytes: Buffer): Buffer {
  const { length } = bytes;
  const isWhole =
    length >= MARK &&
    bytes[length - 1] === 10 &&
    bytes[length - 2] === 13 &&
    bytes[length - 3] === 10 &&
    bytes[length - 4] === 13;
  // A copy: the bytes around them may be many.
  return isWhole ? NOTHING : Buffer.from(bytes.subarray(-(MARK - 1)));
}
