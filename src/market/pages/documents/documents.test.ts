import sql from 'sql-template-tag';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { severableDatabase, testDatabase } from '../../../../test/support/database.ts';
import { marketContext, settableClock } from '../../../../test/support/market-context.ts';
import { seedMerchant } from '../../../../test/support/seed.ts';
import { DEFAULT_LIMITS } from '../../../contract/vocabulary.ts';
import type { Database } from '../../../platform/database/database.ts';
import { COOKIE_NAMES } from '../../connect/create-provider.ts';
import type { MarketConfig } from '../../context.ts';
import { createMarket, type RunningMarket } from '../../create-market.ts';
import { NETWORK_LIMITS } from '../../limits/network-limits.ts';
import { formToken, setPendingCookie } from '../key-page/key-page-session.ts';

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
const DOCUMENTS = ['/about', '/terms', '/privacy', '/support', '/changelog', '/city-bridge', '/docs'];
const NOON = Date.UTC(2026, 0, 6, 12);
const OWN: Partial<MarketConfig> = {
  treasury: `0x${'ab'.repeat(20)}`,
  cityUrl: 'https://city.example',
  sourceUrl: 'https://git.example/aisle',
  contactUrl: 'mailto:desk@market.example',
  deploymentCommit: 'abcdef0123',
  limits: { ...DEFAULT_LIMITS, registration_per_ip_hour: 4_711 },
};
const db = testDatabase();

/** `plain` has default settings, `own` has settings that an operator chose. */
let plain: RunningMarket;
let own: RunningMarket;

function open(changed: Partial<MarketConfig> = {}, database: Database = db.database): RunningMarket {
  const market = marketContext({ database, clock: settableClock(NOON) });
  return createMarket({ ...market, config: { ...market.config, ...changed } });
}

beforeAll(async () => {
  await seedMerchant(db.database, { handle: 'alice' });
  plain = open();
  own = open(OWN);
  await Promise.all([plain.eventsSettled(), own.eventsSettled()]);
});

afterAll(async () => {
  for (const { http } of [plain, own]) await http.close({ drainMs: 0 });
});

async function read({ http }: RunningMarket, url: string, accept = '*/*'): Promise<string> {
  const answer = await http.inject({ url, headers: { accept } });
  expect([url, answer.statusCode]).toEqual([url, 200]);
  return answer.body;
}

async function official(on: RunningMarket) {
  return JSON.parse(await read(on, '/api/official'));
}

describe('the plain pages', () => {
  it('are HTML for browsers, JSON for who asks for it, and text for other programs', async () => {
    for (const path of DOCUMENTS) {
      const html = await read(plain, path, BROWSER);
      const json = JSON.parse(await read(plain, path, 'application/json'));
      const text = await read(plain, path);
      expect(html).toContain(`<h1>${json.title}</h1>`);
      expect(text.startsWith(`# ${json.title}\n\n> ${json.summary}\n`)).toBe(true);
      expect(json.topics.length).toBeGreaterThan(0);
      for (const { title, steps } of json.topics) {
        expect([path, text.includes(`## ${title}\n`), steps.length > 0]).toEqual([path, true, true]);
      }
    }
  });

  it('keep their tag while nothing changes, and are sent small', async () => {
    const { http } = plain;
    for (const path of DOCUMENTS) {
      const { headers } = await http.inject({ url: path, headers: { accept: BROWSER } });
      expect(headers['cache-control']).toContain('public');
      const again = { accept: BROWSER, 'if-none-match': String(headers['etag']) };
      expect((await http.inject({ url: path, headers: again })).statusCode).toBe(304);
      expect(headers['vary']).toBe('accept, accept-encoding');
    }
  });

  it('lead, with head and foot, only to addresses that answer', async () => {
    for (const { http } of [plain, own]) {
      const links = new Set<string>();
      for (const path of [...DOCUMENTS, '/nothing-here']) {
        const { body } = await http.inject({ url: path, headers: { accept: BROWSER } });
        for (const [, link = ''] of body.matchAll(/href="([^"]+)"/g)) links.add(link.replaceAll('&#61;', '='));
      }
      const inside = [...links].filter((link) => link.startsWith('/'));
      expect(inside.length).toBeGreaterThan(DOCUMENTS.length + 10);
      const lost: string[] = [];
      for (const link of inside) {
        const { statusCode } = await http.inject({ url: link, headers: { accept: BROWSER } });
        if (statusCode >= 400) lost.push(`${statusCode} ${link}`);
      }
      expect(lost).toEqual([]);
      const outside = [...links].filter((link) => !/^[/#]/.test(link));
      expect(outside.filter((link) => !link.startsWith('https://') && link !== OWN.contactUrl)).toEqual([]);
    }
  });
});

it('is a page, too, that the one page which asks the database cannot be read', async () => {
  const severable = await severableDatabase(db.url);
  const { http } = open({}, severable.database);
  await severable.sever();
  const { statusCode, headers, body } = await http.inject({ url: '/about', headers: { accept: BROWSER } });
  expect([statusCode, headers['cache-control']]).toEqual([503, 'private, no-store']);
  expect(body).toContain('<h1>The market cannot answer right now</h1>');
  expect((await http.inject('/about')).headers['content-type']).toBe('application/problem+json');
  await severable.close();
});

describe('what the pages say', () => {
  it('holds no address, fee, network or limit that official facts do not name', async () => {
    for (const market of [plain, own]) {
      const facts = await official(market);
      const all = (await Promise.all(DOCUMENTS.map((path) => read(market, path)))).join('\n');
      const named = new Set([...all.matchAll(/0x[0-9a-fA-F]{40}/g)].map(([address]) => address));
      expect(named).toEqual(new Set([facts.treasury, facts.usdc_contract]));
      const fees = [...all.matchAll(/(?:costs|fee of) ([\d.]+) USDC/g)].map(([, fee]) => Number(fee));
      expect(fees.length).toBeGreaterThan(1);
      expect(new Set(fees)).toEqual(new Set([facts.listing_fee_usdc]));
      const networks = [...all.matchAll(/(?:network|On|chain of) `([a-z-]+)`/g)].map(([, name]) => name);
      expect(new Set(networks)).toEqual(new Set([facts.network]));
      const limits = [...all.matchAll(/^- `([a-z_]+_(?:day|hour|minute))`: (\d+)$/gm)];
      expect(limits.length).toBe(NETWORK_LIMITS.length);
      for (const [, name = '', number] of limits) expect([name, facts.limits[name]]).toEqual([name, Number(number)]);
    }
  });

  it('says who runs this instance, with every power of the maintainer', async () => {
    const { maintainer, statement, source, deployment_commit: commit } = await official(own);
    const text = await read(own, '/about');
    for (const fact of [
      statement,
      source,
      commit,
      `merchant ${maintainer.merchant_id}, [${maintainer.handle}](/store/${maintainer.handle}).`,
    ])
      expect(text).toContain(fact);
    for (const { power, logged_as: kind } of maintainer.powers)
      expect(text.toLowerCase()).toContain(`- ${power}. logged as [${kind}](/api/events?kind=${kind}).`);
    expect(await read(plain, '/about')).toContain('names no address of its source');
  });

  it('says where the operator is reached, if that is known', async () => {
    for (const path of ['/about', '/support']) {
      expect([path, await read(own, path)]).toEqual([
        path,
        expect.stringContaining('[desk@market.example](mailto:desk@market.example)'),
      ]);
      expect([path, await read(plain, path)]).toEqual([path, expect.not.stringContaining('desk@')]);
    }
  });

  it('tells of the city where there is one, and that there is none', async () => {
    const text = await read(own, '/city-bridge');
    expect(text).toContain('[https://city.example](https://city.example)');
    const { world } = await official(own);
    expect(text).toContain(`It gives ${world.checkout_minutes} minutes and reserves nothing`);
    expect(text).toContain(`the thing for ${world.reservation_minutes} minutes`);
    expect(text).toContain(`held for you for ${world.recovery_hours} hours`);
    const none = await read(plain, '/city-bridge');
    expect([none.includes('linked to no city'), none.includes('## To buy')]).toEqual([true, false]);
  });

  it('does not link to a door that is closed', async () => {
    const closed = await read(open({ openIdentityEndpoints: new Set() }), '/support');
    expect(closed).not.toMatch(/\]\(\/(?:recovery|rotate)\)/);
    expect(closed).toContain('Recovery is closed here at present.');
  });

  it('names every cookie that is ever set', async () => {
    const text = await read(plain, '/privacy');
    const pending = setPendingCookie({ kind: 'register', session: '', csrf: '' });
    const { cookie } = formToken(marketContext({ database: db.database }).random, '/join', {});
    const { session: _neverSent, ...others } = COOKIE_NAMES;
    const names = [pending, cookie ?? ''].map((line) => line.slice(0, line.indexOf('=')));
    const said = [...text.matchAll(/`([\w-]*openaisle-[\w-]+)`/g)].map(([, name]) => name);
    expect(new Set(said)).toEqual(new Set([...names, ...Object.values(others)]));
    for (const path of [...DOCUMENTS, '/', '/help', '/robots.txt']) {
      const { headers } = await plain.http.inject({ url: path, headers: { accept: BROWSER } });
      expect(headers['set-cookie']).toBeUndefined();
    }
  });

  it('has words for every table that is kept', async () => {
    const text = await read(plain, '/privacy');
    const rows = await db.database.rows<{ name: string }>(sql`
      select table_name as name from information_schema.tables where table_schema = current_schema() order by 1`);
    const unsaid = rows.filter(({ name }) => !Object.hasOwn(PRIVACY_WORDS, name)).map(({ name }) => name);
    expect(unsaid).toEqual([]);
    expect(Object.keys(PRIVACY_WORDS).filter((name) => rows.every((row) => row.name !== name))).toEqual([]);
    for (const [name, words] of Object.entries(PRIVACY_WORDS)) {
      if (words !== null) expect([name, text.includes(words)]).toEqual([name, true]);
    }
  });
});

/** Words with which the privacy page mentions each table. Null if the table contains no personal data. */
const PRIVACY_WORDS: Readonly<Record<string, string | null>> = {
  aisle_counters: null,
  appeals: 'statements of appeals',
  artifact_guards: 'Hashes of titles and goods',
  artifact_shapes: 'near copies',
  artifacts: 'What you sell, until it is bought',
  catalog_changes: null,
  catalog_state: null,
  erasures: 'Reasons of removals',
  event_log_baseline: null,
  goods_chunks: 'What you sell, until it is bought',
  goods_deletions: null,
  goods_objects: 'What you sell, until it is bought',
  history_losses: null,
  log_copies: null,
  id_floors: null,
  identity_locks: null,
  lost_listings: null,
  recoveries: null,
  chain_commands: null,
  chain_halts: null,
  chain_watermarks: null,
  claim_hashes: 'What you bought, your intents and payments',
  collect_signatures: 'Which collecting signature',
  download_tokens: 'Which wallet got a download token',
  compatible_migrations: null,
  comments: 'Comments. One that was emptied',
  connect_proofs: 'the attempt, for a day',
  events: 'log of events',
  facilitator_readings: null,
  facilitator_signers: null,
  fee_days: null,
  fee_payers: '[each fee](/treasury)',
  fees: '[each fee](/treasury)',
  flags: 'why you flagged something',
  further_transfers: 'What you bought, your intents and payments',
  hosted_grants: 'that you did, and when it ended, for good',
  hosted_proven_hosts: null,
  identity_stages: 'What you began and did not confirm',
  listing_answers: null,
  listing_counters: null,
  listings: 'Title, description, preview, tags and keywords',
  merchant_counters: null,
  merchant_keys: 'Keys, recovery codes and pairing codes as hashes',
  merchants: 'Your handle, the time at which you joined',
  oauth_artifacts: 'Programs that you connect',
  pairing_codes: 'Keys, recovery codes and pairing codes as hashes',
  payment_intents: 'What you bought, your intents and payments',
  payment_proofs: 'What you bought, your intents and payments',
  payments: 'What you bought, your intents and payments',
  pending_listings: 'the text of a listing whose fee is under way',
  pin_periods: null,
  purchases: 'What you bought',
  rate_counters: 'the first 64 bits of an IPv6 address',
  recovery_codes: 'Keys, recovery codes and pairing codes as hashes',
  recovery_sets: 'Keys, recovery codes and pairing codes as hashes',
  removals: 'Reasons of removals',
  replies_to_merchants: 'Comments. One that was emptied',
  row_counters: null,
  sales_of_merchants: 'What you bought',
  schema_migrations: null,
  schema_migration_steps: null,
  text_removals: 'Reasons of removals',
  uploads: 'What you uploaded and did not list',
  unproven_claims: 'What you bought, your intents and payments',
  votes: 'Which listings you voted for',
  buyer_votes: 'how many of them are of buyers',
  wallet_uses: 'Price, wallet, times',
  world_checkouts: 'Drafts, checkouts and sales',
  world_drafts: 'Drafts, checkouts and sales',
  world_listings: 'Drafts, checkouts and sales',
};
