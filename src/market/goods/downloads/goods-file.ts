import type { SizedBytes } from '../../../contract/endpoint.ts';
import type { Market } from '../../context.ts';
import { type ByteRange, readObject } from '../chunk-store.ts';
import { reserveDownload, type Taker } from './download-quota.ts';

type Sending = Pick<Market, 'config' | 'database' | 'clock' | 'log' | 'objectStore'>;

/** Small enough that the bytes in flight, which nobody sees arrive, are few beside the bytes that are counted. */
const PIECE_BYTES = 65_536;

export interface FileFacts {
  listingId: bigint;
  bytes: number;
  commitment: Buffer;
  filename: string | null;
  /** Place of the bytes: the listing's own row, or an uploaded object. */
  source: { content: Buffer } | { objectId: bigint };
}

/** Goods that this taker may have, as bytes. They are read, and uploads are counted, while they are sent. */
export class GoodsFile implements SizedBytes {
  readonly facts: FileFacts;
  readonly #market: Sending;
  readonly #taker: Taker;

  constructor(market: Sending, facts: FileFacts, taker: Taker) {
    this.facts = facts;
    this.#market = market;
    this.#taker = taker;
  }

  get length(): number {
    return this.facts.bytes;
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    return this.read({ from: 0, to: this.length })[Symbol.asyncIterator]();
  }

  /** Reads a range. Throws if a byte is missing, or before the first one if the day's share is used up. */
  read({ from, to }: ByteRange): AsyncIterable<Uint8Array> {
    const { source } = this.facts;
    return 'content' in source
      ? readBytes(source.content.subarray(from, to))
      : this.#send(source.objectId, { from, to });
  }

  async *#send(objectId: bigint, range: ByteRange): AsyncIterable<Uint8Array> {
    const { listingId, bytes } = this.facts;
    const goods = { listingId, bytes, taker: this.#taker };
    const reservation = await reserveDownload(this.#market, goods, range.to - range.from);
    let sent = 0;
    try {
      for await (const chunk of readObject(this.#market, objectId, range)) {
        for (const piece of piecesOf(chunk)) {
          yield piece;
          sent += piece.length;
        }
      }
    } finally {
      await reservation.end(sent);
    }
  }
}

async function* readBytes(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield bytes;
}

function* piecesOf(chunk: Uint8Array): Iterable<Uint8Array> {
  for (let at = 0; at < chunk.length; at += PIECE_BYTES) yield chunk.subarray(at, at + PIECE_BYTES);
}
