import type { Database } from '../../platform/database/database.ts';
import type { PreparedStream } from '../../platform/http/operation.ts';
import { readAbsent } from '../catalog/answers.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { joinPage } from '../catalog/fragments/page-bytes.ts';
import { areFilled, LIVE } from '../catalog/model/model.ts';
import { liveBelow, merchantNamed, storePrefix } from './store-parts.ts';

const PORTION = 100;
const NOTHING = new Uint8Array();

interface Source {
  catalog: Pick<Catalog, 'model' | 'fresh' | 'bring'>;
  database: Database;
}

/**
 * A whole store, piece by piece, whatever its size. A listing is sent as it is at its turn, and the counts behind the last one say
 * what was sent; so there is no ETag that could be known beforehand.
 */
export function streamStore(source: Source, store: { handle: string; beforeId: number }): PreparedStream {
  return { etag: null, head: ['content-type', 'application/json; charset=utf-8'], pieces: piecesOf(source, store) };
}

async function* piecesOf(
  { catalog, database }: Source,
  { handle, beforeId }: { handle: string; beforeId: number },
): AsyncGenerator<Uint8Array> {
  const first = merchantNamed(catalog.model(), handle);
  yield storePrefix(first);
  let below = beforeId === 0 ? catalog.model().newestId + 1 : beforeId;
  let sent = 0;
  for (;;) {
    const model = catalog.model();
    const portion = liveBelow(merchantNamed(model, handle), below, PORTION);
    const last = portion.at(-1);
    if (last === undefined) break;
    if (!areFilled(model, portion)) {
      await catalog.bring(portion);
      continue;
    }
    const elsewhere = await readAbsent(model, database, portion);
    const current = portion.filter((id) => model.columns.state[id] === LIVE);
    const page =
      elsewhere && joinPage(model.pages, { prefix: NOTHING, ids: current, suffix: NOTHING, outline: false, elsewhere });
    if (page === null) {
      await catalog.fresh();
      continue;
    }
    below = last;
    if (current.length > 0) {
      // As soon as the buffer is given back, another page may be written into it.
      const bytes = Buffer.concat([Buffer.from(sent > 0 ? ',' : ''), page.body]);
      sent += current.length;
      page.release();
      yield bytes;
    } else page.release();
  }
  const total = beforeId === 0 ? sent : merchantNamed(catalog.model(), handle).live.count;
  const rest = { total, returned: sent, page_size: sent, has_more: false, next_before_id: null };
  yield Buffer.from(`],${JSON.stringify(rest).slice(1)}`);
}
