import type { ListingDetail } from '../../../contract/listings.ts';
import type { MerchantRecord } from '../../../contract/merchant-record.ts';
import { AISLE_WORDS } from '../../../contract/vocabulary.ts';
import { cacheAnswer } from '../../../platform/http/cache-answer.ts';
import { type Incoming, type Outgoing, readOutgoing } from '../../../platform/http/message.ts';
import type { ExtraRoute, InternalRequest, InternalRequests } from '../../../platform/http/server-options.ts';
import { Refusal } from '../../../platform/refusal.ts';
import { startThread, type Thread } from '../../../platform/worker-thread.ts';
import type { Merchant } from '../../context.ts';
import { answerRefusal } from '../refusals.ts';
import { SHELL } from '../shell/assets.ts';
import { shortenToLine, showPrice } from '../storefront/render-text.ts';
import { drawMark, type Marked } from './draw-mark.ts';
import {
  type CardQuestion,
  hexOfOklch,
  type IconQuestion,
  isListingShown,
  type MarkColours,
  type PictureQuestion,
} from './picture-question.ts';

interface Painting {
  /** Returns a PNG. Refuses if too many pictures are already pending. */
  paint(question: PictureQuestion): Promise<Uint8Array>;
  stop(): Promise<void>;
}

export interface PaintingLimits {
  keptBytes: number;
  /** Most pictures that may be pending at once. */
  mostWaiting: number;
}

const LIMITS: PaintingLimits = { keptBytes: 16_777_216, mostWaiting: 8 };
const PROGRAM = new URL('./paint-thread.ts', import.meta.url);
const RETRY_SECONDS = 2;

/**
 * Paints pictures in a worker thread, one at a time, so that other requests do not wait. The thread starts with the first picture. After a
 * failure, the next picture starts a new thread. Concurrent requests for the same picture share one painting.
 */
export function createPainting({ keptBytes, mostWaiting }: PaintingLimits = LIMITS): Painting {
  const cache = createPictureCache(keptBytes);
  const pending = new Map<string, Promise<Uint8Array>>();
  let thread: Thread<PictureQuestion, Uint8Array> | null = null;
  let isStopped = false;
  const paintInThread = async (key: string, question: PictureQuestion): Promise<Uint8Array> => {
    thread ??= startThread<PictureQuestion, Uint8Array>(PROGRAM);
    const current = thread;
    try {
      const picture = await current.ask(question, []);
      cache.put(key, picture);
      return picture;
    } catch (error) {
      if (thread === current) thread = null;
      throw error;
    } finally {
      pending.delete(key);
    }
  };
  return {
    paint: async (question) => {
      const key = JSON.stringify(question);
      const existing = cache.get(key) ?? pending.get(key);
      if (existing !== undefined) return await existing;
      if (isStopped || pending.size >= mostWaiting) {
        throw new Refusal('unavailable', {
          detail: 'More pictures are wanted than can be painted just now.',
          retryAfterSeconds: RETRY_SECONDS,
        });
      }
      const painting = paintInThread(key, question);
      pending.set(key, painting);
      return await painting;
    },
    stop: async () => {
      isStopped = true;
      await thread?.stop();
    },
  };
}

/** Evicts the least recently used pictures first. */
function createPictureCache(mostBytes: number) {
  const pictures = new Map<string, Uint8Array>();
  let bytes = 0;
  const forget = (key: string): void => {
    bytes -= pictures.get(key)?.byteLength ?? 0;
    pictures.delete(key);
  };
  const put = (key: string, picture: Uint8Array): void => {
    forget(key);
    pictures.set(key, picture);
    bytes += picture.byteLength;
    for (const oldest of pictures.keys()) {
      if (bytes <= mostBytes) break;
      forget(oldest);
    }
  };
  return {
    get: (key: string): Uint8Array | undefined => {
      const picture = pictures.get(key);
      if (picture !== undefined) put(key, picture);
      return picture;
    },
    put,
  };
}

export interface Pictures {
  mounts(inside: InternalRequests<Merchant>): ExtraRoute[];
  stop(): Promise<void>;
}

/** Programs that show links request a picture once and keep it. */
const CACHE_CONTROL = 'public, max-age=3600';
const PNG = 'image/png';
const ICON_SIZE = 32;
const TOUCH_SIZE = 180;
const ICON_BACKGROUND = '#1c5a3d';

/** Serves preview pictures for links, and the market's mark as an icon for clients that cannot show the SVG. */
export function createPictures(): Pictures {
  const { paint, stop } = createPainting();
  const answer = (body: Uint8Array, type: string, incoming: Incoming): Outgoing => {
    const cached = cacheAnswer(
      { status: 200, headers: { 'content-type': type }, body },
      ...(['public', incoming.headers['if-none-match']] as const),
    );
    return { ...cached, headers: { ...cached.headers, 'cache-control': CACHE_CONTROL } };
  };
  const icon = (size: number, background: string | null): IconQuestion => ({
    ...{ kind: 'icon', svg: SHELL.mark.body.toString('utf8') },
    ...{ size, background },
  });
  const card =
    (
      inside: InternalRequests<Merchant>,
      plan: (name: string) => InternalRequest,
      show: (record: unknown) => CardQuestion,
    ) =>
    async (incoming: Incoming): Promise<Outgoing> => {
      const { name = '' } = incoming.params;
      if (!name.endsWith('.png')) throw new Refusal('not_found');
      const request = { ...plan(name.slice(0, -'.png'.length)), headers: { accept: 'application/json' } };
      const outgoing = await inside.ask(request, incoming);
      if (outgoing.status !== 200) return answerRefusal(outgoing, incoming);
      return answer(await paint(show(JSON.parse(await readOutgoing(outgoing)))), PNG, incoming);
    };
  return {
    stop,
    mounts: (inside) => [
      {
        ...{ method: 'GET', withHead: true, path: '/pictures/listing/:name' },
        answer: card(
          inside,
          (id) => ({ route: 'GET /api/listing/:id', params: { id }, query: 'comments_limit=1' }),
          (record) => pictureOfListing((record as { listing: ListingDetail }).listing),
        ),
      },
      {
        ...{ method: 'GET', withHead: true, path: '/pictures/store/:name' },
        answer: card(
          inside,
          (handle) => ({ route: 'GET /api/store/:handle', params: { handle }, query: 'limit=1' }),
          (record) => pictureOfStore((record as { merchant: MerchantRecord }).merchant),
        ),
      },
      {
        ...{ method: 'GET', withHead: true, path: '/favicon.ico' },
        answer: async (incoming) =>
          answer(writeIcon(await paint(icon(ICON_SIZE, null)), ICON_SIZE), 'image/x-icon', incoming),
      },
      {
        ...{ method: 'GET', withHead: true, path: '/apple-touch-icon.png' },
        // The touch icon has a background, because the device rounds the corners itself.
        answer: async (incoming) => answer(await paint(icon(TOUCH_SIZE, ICON_BACKGROUND)), PNG, incoming),
      },
    ],
  };
}

const HEAD_BYTES = 22;

/** Wraps a PNG as an ICO file, which browsers request from every site. */
function writeIcon(png: Uint8Array, size: number): Buffer {
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt16LE(1, 2);
  head.writeUInt16LE(1, 4);
  head.writeUInt8(size, 6);
  head.writeUInt8(size, 7);
  head.writeUInt16LE(1, 10);
  head.writeUInt16LE(32, 12);
  head.writeUInt32LE(png.byteLength, 14);
  head.writeUInt32LE(HEAD_BYTES, 18);
  return Buffer.concat([head, png]);
}

/** Maximum number of letters kept of each text. A picture has no room for more. */
const LONGEST_TEXT = 300;

/** Describes a listing's picture. Once the goods are off the market, it shows nothing that their merchant wrote. */
export function pictureOfListing(listing: ListingDetail): CardQuestion {
  const { id, aisle, title, price_usdc, merchant } = listing;
  const name = `Listing ${id}`;
  const card = { ...withMark({ listing: id, aisle }), otherwise: name, text: '' };
  const kind = AISLE_WORDS[aisle].name;
  if (!isListingShown(listing)) {
    return { ...card, title: name, price: '', from: { merchant: '', rest: `${kind}, no longer for sale` } };
  }
  const price = listing.state === 'sold' ? `Sold for ${showPrice(price_usdc)}` : showPrice(price_usdc);
  return {
    ...card,
    title: shortenToLine(title, LONGEST_TEXT),
    price,
    from: { merchant: shortenToLine(merchant, LONGEST_TEXT), rest: kind },
  };
}

export function pictureOfStore({ id, handle, store_line }: MerchantRecord): CardQuestion {
  return {
    ...withMark({ merchant: id }),
    ...{
      title: shortenToLine(handle, LONGEST_TEXT),
      otherwise: `Merchant ${id}`,
      text: shortenToLine(store_line, LONGEST_TEXT),
    },
    ...{ price: '', from: { merchant: '', rest: 'A store at Openaisle' } },
  };
}

function withMark(marked: Marked): Pick<CardQuestion, 'kind' | 'mark' | 'colours'> {
  const mark = drawMark(marked, 'large');
  const hue = /class="mark large ([\w-]+)"/.exec(mark)?.[1] ?? '';
  return { kind: 'card', mark, colours: markColours(hue) };
}

/** Matches the stylesheet's classes that set the hue of marks. */
const HUES = /^\.([\w-]+) \{\s*--hue: (\d+);(?:\s*--tint: ([\d.]+);)?\s*\}/gm;

interface Hue {
  hue: number;
  tint: number;
}

/** Hues read from the pages' stylesheet, so that pictures and pages have the same colours. */
const hues: ReadonlyMap<string, Hue> = new Map(
  [...SHELL.style.body.toString('utf8').matchAll(HUES)].map(([, name = '', hue, tint]) => [
    name,
    { hue: Number(hue), tint: Number(tint ?? 1) },
  ]),
);

/** Returns the colours that the stylesheet gives a large mark on a light background. `name` is the mark's class. */
export function markColours(name: string): MarkColours {
  const { hue, tint } = hues.get(name) ?? { hue: 157, tint: 1 };
  return {
    ground: hexOfOklch(0.43, 0.08 * tint, hue),
    w: hexOfOklch(0.925, 0.03 * tint, hue),
    a: hexOfOklch(0.56, 0.1 * tint, hue),
    b: hexOfOklch(0.74, 0.085 * tint, hue + 18),
  };
}
