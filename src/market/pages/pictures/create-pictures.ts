import type { ListingDetail, MerchantRecord } from '../../../contract/listings.ts';
import { cacheAnswer } from '../../../platform/http/cache-answer.ts';
import { type Incoming, type Outgoing, readOutgoing } from '../../../platform/http/incoming.ts';
import type { Inside, InsideRequest, Mount } from '../../../platform/http/mount.ts';
import { Refusal } from '../../../platform/refusal.ts';
import type { Merchant } from '../../context.ts';
import { SHELL } from '../shell/assets.ts';
import { answerRefusal } from '../storefront/answer-refusal.ts';
import { createPainting } from './create-painting.ts';
import { pictureOfListing, pictureOfStore } from './picture-of.ts';
import type { CardQuestion, IconQuestion } from './picture-question.ts';
import { writeIcon } from './write-icon.ts';

export interface Pictures {
  mounts(inside: Inside<Merchant>): Mount[];
  stop(): Promise<void>;
}

/** A program that shows links asks once and keeps the picture. */
const AN_HOUR = 'public, max-age=3600';
const PNG = 'image/png';
const ICON_SIZE = 32;
const TOUCH_SIZE = 180;
/** Of the mark itself. */
const GROUND = '#1c5a3d';

/** Pictures for links to this market, and its own mark for those who cannot show the drawn one. */
export function createPictures(): Pictures {
  const { paint, stop } = createPainting();
  const answer = (body: Uint8Array, type: string, incoming: Incoming): Outgoing => {
    const cached = cacheAnswer(
      { status: 200, headers: { 'content-type': type }, body },
      ...(['public', incoming.headers['if-none-match']] as const),
    );
    return { ...cached, headers: { ...cached.headers, 'cache-control': AN_HOUR } };
  };
  const icon = (size: number, background: string | null): IconQuestion => ({
    ...{ kind: 'icon', svg: SHELL.mark.body.toString('utf8') },
    ...{ size, background },
  });
  const card =
    (inside: Inside<Merchant>, plan: (name: string) => InsideRequest, show: (record: unknown) => CardQuestion) =>
    async (incoming: Incoming): Promise<Outgoing> => {
      const { name = '' } = incoming.params;
      if (!name.endsWith('.png')) throw new Refusal('not_found');
      const request = { ...plan(name.slice(0, -'.png'.length)), headers: { accept: 'application/json' } };
      const outgoing = await inside.ask(request, incoming);
      if (outgoing.status !== 200) return await answerRefusal(outgoing, incoming);
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
        // The device that shows it cuts the corners.
        answer: async (incoming) => answer(await paint(icon(TOUCH_SIZE, GROUND)), PNG, incoming),
      },
    ],
  };
}
