import { html } from 'ghtml';
import type { Problem } from '../../../contract/errors.ts';
import { cacheAnswer } from '../../../platform/http/cache-answer.ts';
import type { Incoming, Outgoing } from '../../../platform/http/incoming.ts';
import type { Inside } from '../../../platform/http/mount.ts';
import { readQuery } from '../../../platform/http/request-target.ts';
import type { Face } from '../../../platform/http/server-options.ts';
import type { Market, Merchant } from '../../context.ts';
import { chooseForm } from '../choose-form.ts';
import { HTML_HEADERS } from '../render-html.ts';
import { showRefusal } from '../storefront/refusal-page.ts';
import { writeShown } from '../storefront/write-page.ts';
import { keepSums } from './keep-sums.ts';
import { TOP_MERCHANTS } from './render-charts.ts';
import { countFreeListings, sumFees, sumSales } from './store.ts';
import type { TreasuryBody } from './treasury-body.ts';
import { type BookSums, showOlderFees, showTreasury } from './treasury-page.ts';

/** Half of what programs get: a page is read to its end. */
const ROWS = 25;
const BACK = {
  back: { path: '/treasury', name: 'The treasury' },
  again: (problem: Problem): string =>
    problem.do_not_pay_again === true ? html`<p>If you have paid, do not pay again.</p>` : '',
};

/** The books as a page, at the address where programs get them as JSON. */
export function createTreasuryFace(
  market: Pick<Market, 'clock' | 'config' | 'database'>,
  inside: Inside<Merchant>,
): Face {
  const { clock, config, database } = market;
  const readSums = keepSums(clock, async (): Promise<BookSums> => {
    // One after the other: a request for the charts takes one connection at most.
    const fees = await sumFees(database, TOP_MERCHANTS);
    const sales = await sumSales(database);
    return { fees, sales, freeListings: await countFreeListings(database) };
  });

  async function write(body: TreasuryBody, isLater: boolean): Promise<string> {
    return writeShown(isLater ? showOlderFees(body, config) : showTreasury(body, await readSums(), config));
  }

  return async (incoming: Incoming): Promise<Outgoing | null> => {
    if (chooseForm(incoming.headers.accept) !== 'html') return null;
    const query = pageQuery(incoming.target.query);
    const answer = await inside.ask({ route: 'GET /treasury', query }, incoming);
    if (answer.status !== 200 || typeof answer.body !== 'string') return refusedPage(answer);
    const isLater = readQuery(query)['before_id'] !== undefined;
    let text: string;
    try {
      text = await write(JSON.parse(answer.body) as TreasuryBody, isLater);
    } catch (error) {
      return refusedPage(inside.refuse(error, incoming));
    }
    const ifNoneMatch = incoming.headers['if-none-match'];
    return cacheAnswer({ status: 200, headers: HTML_HEADERS, body: text }, 'public', ifNoneMatch);
  };
}

function pageQuery(query: string): string {
  if (readQuery(query)['limit'] !== undefined) return query;
  return query === '' ? `limit=${ROWS}` : `${query}&limit=${ROWS}`;
}

/** What the route refused, the same in status and headers. */
function refusedPage(outgoing: Outgoing): Outgoing {
  const { headers, body } = outgoing;
  if (typeof body !== 'string') return outgoing;
  const text = writeShown(showRefusal(JSON.parse(body) as Problem, BACK));
  return { ...outgoing, headers: { ...headers, ...HTML_HEADERS }, body: text };
}
