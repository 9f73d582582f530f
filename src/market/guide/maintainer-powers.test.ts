import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { reasonOf } from '../../../test/support/ask.ts';
import { testDatabase } from '../../../test/support/database.ts';
import { answerTo } from '../../../test/support/listing-life.ts';
import { marketContext } from '../../../test/support/market-context.ts';
import { type SeededMerchant, seedListing, seedMerchant } from '../../../test/support/seed.ts';
import { listFiles } from '../../../test/support/source/open-sources.ts';
import type { EndpointShape } from '../../contract/endpoint.ts';
import { endpoints } from '../../contract/index.ts';
import type { Market } from '../context.ts';
import { editListing } from '../listings/changes/edit-listing.ts';
import { withdrawListing } from '../listings/changes/withdraw-listing.ts';
import { withdrawWithReason } from '../listings/changes/withdraw-with-reason.ts';
import { appealRemoval, decideAppeal } from '../moderation/appeals.ts';
import { pinListing } from '../moderation/pin-listing.ts';
import { removeComment, removeListing } from '../moderation/remove-listing.ts';
import { removeText } from '../moderation/remove-text.ts';
import { postComment } from '../reactions/post-comment.ts';
import { MAINTAINER_POWERS } from './get-official-facts.ts';

const root = resolve(import.meta.dirname, '../../..');
const shapes: readonly EndpointShape[] = Object.values(endpoints);
const addressOf = ({ method, path }: EndpointShape): string => `${method} ${path}`;
const ofMaintainer = shapes.filter(({ auth }) => auth === 'maintainer');

describe('the published powers', () => {
  it('are one for each endpoint that is the maintainer’s alone, and what it may do beyond others at four more', () => {
    const published = MAINTAINER_POWERS.map(({ endpoint }) => endpoint);
    expect(new Set(published).size).toBe(published.length);
    const alone = ofMaintainer.map(addressOf);
    expect(alone.length).toBeGreaterThan(3);
    expect(published.filter((address) => alone.includes(address)).sort()).toEqual(alone.sort());
    const shared = ['POST /api/listing', 'POST /api/world/listing', 'POST /api/review/:payment_id', 'GET /api/me'];
    expect(published.filter((address) => !alone.includes(address)).sort()).toEqual(shared.sort());
    for (const address of published) expect(shapes.map(addressOf)).toContain(address);
  });

  it('are logged as moderation, but for free listings and for flags, which every merchant raises', () => {
    const logged = MAINTAINER_POWERS.map((power) => [power.endpoint, power.logged_as]);
    const others = logged.filter(([, kind]) => kind !== 'moderation');
    expect(others).toEqual([
      ['POST /api/listing', 'maintainer_seed'],
      ['POST /api/world/listing', 'maintainer_seed'],
      ['GET /api/me', 'flag'],
    ]);
  });

  /** Files that check for the maintainer, with the powers they grant. Null if a file grants no power itself. */
  const PLACES: Readonly<Record<string, string | readonly string[] | null>> = {
    // These identify or create the maintainer. The routes make their own check.
    'src/market/connect/connector.ts': null,
    'src/market/create-market.ts': null,
    'src/market/identity/authenticate.ts': null,
    'src/market/identity/register.ts': null,
    // These show the maintainer's tools. The routes behind the tools make their own check.
    'src/market/mcp/call-tool.ts': null,
    'src/market/mcp/create-mcp.ts': null,
    'src/market/mcp/tool-catalog.ts': null,
    'src/market/merchants/present-merchant.ts': null,
    // The operator's command records the act under the maintainer's handle.
    'src/market/moderation/erase-goods.ts': null,
    // These show who the maintainer is, refuse handles that look like the maintainer's, or refuse other callers.
    'src/market/catalog/present-listing.ts': null,
    'src/market/catalog/store.ts': null,
    'src/market/identity/store.ts': null,
    'src/market/pages/storefront/create-storefront.ts': null,
    'src/market/guide/get-official-facts.ts': null,
    'src/market/guide/store.ts': null,
    'src/platform/http/caller-headers.ts': null,
    'src/platform/http/route.ts': null,
    'src/platform/http/server-options.ts': null,
    'src/market/history/get-me.ts': 'GET /api/me',
    'src/market/history/store.ts': 'POST /api/review/:payment_id',
    'src/market/payments/paths/direct/unproven-store.ts': 'POST /api/review/:payment_id',
    'src/market/listings/fees/complete-fee.ts': 'POST /api/review/:payment_id',
    'src/market/listings/answer-list-request.ts': ['POST /api/listing', 'POST /api/world/listing'],
    'src/market/listings/check-goods.ts': 'POST /api/listing',
    'src/market/listings/create-listing.ts': 'POST /api/listing',
    'src/market/listings/fees/open-fee-intent.ts': 'POST /api/listing',
  };

  it('are all that the code asks about: no other file makes a difference for the maintainer', () => {
    const asking = listFiles(root).filter(
      (path) =>
        /^src\/(?:market|platform)\/.*(?<!\.test)\.ts$/.test(path) &&
        /\.maintainer\b|MAINTAINER_MERCHANT_ID|\bisMaintainer\b/.test(readFileSync(resolve(root, path), 'utf8')),
    );
    expect(asking.sort()).toEqual(Object.keys(PLACES).sort());
    const published = MAINTAINER_POWERS.map(({ endpoint }) => endpoint);
    for (const power of Object.values(PLACES).flat()) if (power !== null) expect(published).toContain(power);
  });
});

/** Returns the names of all fields at any depth. */
function fieldsOf(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const own =
    'properties' in schema && typeof schema.properties === 'object' ? Object.keys(schema.properties ?? {}) : [];
  return [...own, ...Object.values(schema).flatMap(fieldsOf)];
}

describe('what the maintainer cannot do', () => {
  const db = testDatabase();
  let market: Market;
  let keeper: SeededMerchant;
  let seller: SeededMerchant;

  beforeAll(async () => {
    market = marketContext({ database: db.database });
    keeper = await seedMerchant(db.database);
    seller = await seedMerchant(db.database);
  });

  it('is to read goods: no answer to it alone has a field for them, or shows them', async () => {
    for (const { name, answers } of ofMaintainer) {
      const fields = Object.values(answers).flatMap((answer) => fieldsOf(z.toJSONSchema(answer, { io: 'output' })));
      expect(fields, name).toContain('id');
      for (const hidden of ['artifact', 'artifact_salt', 'content', 'salt']) expect(fields, name).not.toContain(hidden);
    }
    const artifact = 'goods that only a buyer sees';
    const { id } = await seedListing(db.database, seller.id, { artifact });
    const about = { listing_id: Number(id) };
    const comment = await answerTo(market, endpoints.postComment, postComment, {
      body: { ...about, body: 'a word' },
      caller: seller,
    });
    const reason = { reason_code: 'policy', reason: 'x' } as const;
    const pinned = await answerTo(market, endpoints.pinListing, pinListing, {
      body: { ...about, pinned: true },
      caller: keeper,
    });
    const emptied = await answerTo(market, endpoints.removeComment, removeComment, {
      body: { comment_id: comment.body.comment.id, ...reason },
      caller: keeper,
    });
    const removed = await answerTo(market, endpoints.removeListing, removeListing, {
      body: { ...about, ...reason },
      caller: keeper,
    });
    const { body } = await answerTo(market, endpoints.appealRemoval, appealRemoval, {
      body: { ...about, statement: 'x' },
      caller: seller,
    });
    const stated = await answerTo(market, endpoints.removeText, removeText, {
      body: { target_type: 'appeal', target_id: body.appeal.id, ...reason },
      caller: keeper,
    });
    const decided = await answerTo(market, endpoints.decideAppeal, decideAppeal, {
      body: { appeal_id: body.appeal.id, outcome: 'restored', reason: 'x' },
      caller: keeper,
    });
    const answers = [pinned, emptied, removed, stated, decided];
    expect(answers).toHaveLength(ofMaintainer.length);
    for (const answer of answers) expect(JSON.stringify(answer)).not.toContain(artifact);
  });

  it('is to change, withdraw or appeal for what others list', async () => {
    const { id } = await seedListing(db.database, seller.id);
    const asked = { body: { listing_id: Number(id), statement: 'x' }, caller: keeper };
    const attempts = [
      () => answerTo(market, endpoints.editListing, editListing, { id, body: { preview: 'x' }, caller: keeper }),
      () => answerTo(market, endpoints.withdrawListing, withdrawListing, { id, caller: keeper }),
      () => answerTo(market, endpoints.withdrawWithReason, withdrawWithReason, { id, body: {}, caller: keeper }),
      () => answerTo(market, endpoints.appealRemoval, appealRemoval, asked),
    ];
    for (const attempt of attempts) expect(await reasonOf(attempt())).toBe('not_owner');
  });
});
