import { inspect } from 'node:util';
import sql from 'sql-template-tag';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TOKEN_SCOPES } from '../../src/contract/connections.ts';
import { WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import type { Hex } from '../../src/platform/hex.ts';
import { freePort } from '../support/free-port.ts';
import { type Member, signProof, startWorld, type World } from '../support/market-world.ts';
import { askMcp } from '../support/mcp-ask.ts';
import { beginAuthorization, followRedirectBack, openConsent, post, redeem, refresh } from '../support/oauth-client.ts';
import { CLIENT_SHAPES, publishDocuments } from '../support/oauth-shapes.ts';
import { seedListing } from '../support/seed.ts';
import {
  allowOnPage,
  dumpTables,
  findByChallenge,
  findBySite,
  type HostedClient,
  type Manner,
  openHosted,
  readChallenge,
  scopeToAsk,
  spellings,
  tablesThatHold,
} from './oauth-hosted.ts';

const MANNERS = {
  claudeWeb: { shape: CLIENT_SHAPES.claudeWeb, era: 'legacy', find: findByChallenge, scopeOf: scopeToAsk },
  claudeCode: { shape: CLIENT_SHAPES.claudeCode, era: 'legacy', find: findByChallenge, scopeOf: () => null },
  chatgpt: {
    shape: CLIENT_SHAPES.chatgpt,
    era: 'legacy',
    find: findBySite,
    scopeOf: ({ server }) => server.scopes_supported.join(' '),
  },
  cursor: { shape: CLIENT_SHAPES.cursor, era: 'legacy', find: findByChallenge, scopeOf: ({ scope }) => scope },
  vscode: { shape: CLIENT_SHAPES.vscode, era: 'modern', find: findByChallenge, scopeOf: scopeToAsk },
} satisfies Record<string, Manner>;

const buyer = WORLD_ACCOUNTS.buyerOne;
const lister = WORLD_ACCOUNTS.sellerOne;
const secrets = new Set<string>();
let world: World;
let owner: Member;
let seller: Member;

beforeAll(async () => {
  world = await startWorld({ port: await freePort(), reconcileEveryMs: 100, fetchDocument: publishDocuments() });
  // Merchant 1 is the maintainer, who lists without a fee.
  await world.join('first');
  owner = await world.join('owner');
  seller = await world.join('seller');
});
afterAll(() => world.stop());

/** Number of sign-ins so far. Every second one uses a pairing code. */
let shown = 0;
async function nextProof() {
  shown += 1;
  if (shown % 2 === 1) return { key: owner.key };
  const { body } = await world.ask('POST', '/api/pair', { key: owner.key, body: {} });
  return { pairingCode: String(body['pairing_code']) };
}

const open = async (manner: Manner): Promise<HostedClient> => await openHosted(world, manner, nextProof);

/** Calls the tool and pays the terms it names. Returns the metadata with which the call is repeated once the payment is final. */
async function pay(client: HostedClient, tool: string, given: object): Promise<Record<string, unknown>> {
  const asked = await client.call(tool, given);
  expect(asked).toMatchObject({ status: 200, isError: true, body: { x402Version: 2, reason: 'payment_required' } });
  const [terms] = asked.body['accepts'] as { payTo: Hex; amount: string }[];
  if (terms === undefined) throw new Error('nothing is asked');
  const payer = tool === 'buy' ? buyer : lister;
  const { v2 } = await signProof(world.chain, payer, { payTo: terms.payTo, units: BigInt(terms.amount) });
  const meta = { 'x402/payment': JSON.parse(Buffer.from(v2.value, 'base64').toString('utf8')) };
  expect((await client.call(tool, given, meta)).body).toMatchObject({ do_not_pay_again: true });
  return meta;
}

describe.each(Object.entries(MANNERS) as [keyof typeof MANNERS, Manner][])('a client like %s', (name, manner) => {
  test('finds the server, is authorized, reads me first, lists, and buys', async () => {
    const client = await open(manner);
    const item = {
      ...{ title: `Made through ${name}`, description: `What ${name} is about`, preview: `A look at ${name}` },
      ...{ artifact: `goods of ${name} `.repeat(40), price_usdc: 0.25, seller_wallet: lister.address },
      ...{ tags: ['one'], aisle: 'tools' },
    };
    // Claude Code comes after Claude and shares its host, so its host is proven.
    expect((await client.call('list_item', item)).body).toMatchObject({
      reason: name === 'claudeCode' ? 'insufficient_scope' : 'host_not_proven',
      status: 403,
      retry: 'after_fix',
    });
    expect((await client.call('browse')).isError).toBe(false);
    expect(await client.call('me')).toMatchObject({ isError: false, body: { merchant: { handle: 'owner' } } });

    const isNarrow = !client.connected.tokens.scope.includes('market:write');
    expect(isNarrow).toBe(name !== 'chatgpt');
    if (isNarrow) {
      expect(await client.stepUp(await client.call('list_item', item))).toBe(TOKEN_SCOPES.join(' '));
      // A host in the configuration is proven for all its grants, but a client that registered itself must be proven again.
      const next = await client.call('my_purchases');
      expect(next.body['reason']).toBe(name === 'cursor' ? 'host_not_proven' : undefined);
      expect((await client.call('me')).isError).toBe(false);
    }

    const goods = await seedListing(world.db.database, seller.id, { priceUnits: 2_000_000n, artifact: `for ${name}` });
    await world.running.eventsSettled();
    const bought = { id: Number(goods.id) };
    const [fee, price] = [await pay(client, 'list_item', item), await pay(client, 'buy', bought)];
    await world.finalize();
    const listed = await client.call('list_item', item, fee);
    expect(listed).toMatchObject({ isError: false, body: { listing_id: expect.any(Number) } });
    const listing = await world.ask('GET', `/api/listing/${listed.body['listing_id']}`);
    expect(listing.body).toMatchObject({ listing: { title: item.title, merchant: 'owner' } });
    const delivered = await client.call('buy', bought, price);
    expect(delivered).toMatchObject({ isError: false, body: { artifact: `for ${name}` } });
    const mine = await client.call('my_purchases', { limit: 1 });
    expect(mine.body['purchases']).toMatchObject([{ listing_id: bought.id }]);
    for (const secret of client.secrets) secrets.add(secret);
  });
});

test('hosts of the configuration that have read me are in the official facts, and no others', async () => {
  const { body } = await world.ask('GET', '/api/official');
  expect(JSON.stringify(body)).toContain('"hosted_proven_hosts":["chatgpt.com","claude.ai","vscode.dev"]');
});

describe('a token', () => {
  test('is for the hosted connector alone, and stands in Authorization alone', async () => {
    const client = await open(MANNERS.chatgpt);
    const { access_token: token } = client.connected.tokens;
    const authorization = `Bearer ${token}`;
    expect(await world.ask('GET', '/api/me', { headers: { authorization } })).toMatchObject({ status: 401 });
    const elsewhere = await askMcp(world, 'tools/call', { name: 'me', arguments: {} }, { headers: { authorization } });
    expect(elsewhere.message.result).toMatchObject({ isError: true, structuredContent: { status: 401 } });

    const ask = (path: string, headers: Record<string, string> = {}) =>
      askMcp(world, 'tools/call', { name: 'me', arguments: {} }, { path, headers, era: 'legacy' });
    const refused = [
      await ask('/mcp/connect'),
      await ask(`/mcp/connect?access_token=${token}`),
      await ask('/mcp/connect', { authorization: `Basic ${token}` }),
      await ask('/mcp/connect', { authorization: `Bearer ${token}x` }),
      await ask('/mcp/connect', { authorization: `Bearer ${owner.key}` }),
      await ask('/mcp/connect', { authorization: `Bearer ${client.connected.tokens.refresh_token}` }),
    ];
    for (const { status, headers, message } of refused) {
      expect(status).toBe(401);
      expect(message).toMatchObject({ reason: 'token_required' });
      expect(headers.get('cache-control')).toBe('private, no-store');
      expect(readChallenge(headers)).toMatchObject({
        resource_metadata: `${world.url}/.well-known/oauth-protected-resource/mcp/connect`,
        scope: 'market:read market:me',
      });
    }
    expect(refused.map(({ headers }) => readChallenge(headers)['error'])).toEqual([
      ...[undefined, undefined],
      ...Array.from({ length: 4 }, () => 'invalid_token'),
    ]);
    expect((await ask('/mcp/connect', { authorization })).status).toBe(200);
    for (const secret of client.secrets) secrets.add(secret);
  });

  test('of another audience is refused here', async () => {
    const client = await open(MANNERS.vscode);
    expect((await client.call('me')).status).toBe(200);
    await world.db.database.run(sql`
      update oauth_artifacts set payload = jsonb_set(payload, '{aud}', '"https://elsewhere.example/mcp/connect"')
      where model = 'AccessToken' and grant_id = (select oauth_grant from hosted_grants order by granted_at desc limit 1)`);
    const refused = await client.call('me');
    expect(refused.status).toBe(401);
    expect(readChallenge(refused.headers)['error']).toBe('invalid_token');
  });

  test('ends with its grant, which its merchant sees and revokes', async () => {
    const client = await open(MANNERS.cursor);
    const grants = async () =>
      (await world.ask('GET', '/api/grants', { key: owner.key })).body['grants'] as Record<string, unknown>[];
    const [newest] = await grants();
    expect(newest).toMatchObject({ client_name: 'Cursor', client_host: null, proven_at: null, revoked_at: null });
    expect((await client.call('me')).status).toBe(200);
    expect((await grants())[0]).toMatchObject({ id: newest?.['id'], proven_at: expect.any(String) });
    await world.ask('POST', `/api/grants/${newest?.['id']}/revoke`, { key: owner.key });
    expect((await client.call('me')).status).toBe(401);
    const { server, clientId, connected } = client;
    const next = await refresh(server, clientId, connected.tokens.refresh_token ?? '');
    expect(next.body).toMatchObject({ error: 'invalid_grant' });
  });
});

test('nothing that opens anything stands in a table or in the log, after all of that and while some is under way', async () => {
  const client = await open(MANNERS.claudeWeb);
  const { server, clientId, connected } = client;
  const next = await refresh(server, clientId, connected.tokens.refresh_token ?? '');
  const again = await redeem(server, connected.begun, connected.code);
  expect([next.status, again.status]).toEqual([200, 400]);
  // Add secrets of unfinished sign-ins: a user on the page, an unused code, and a newly registered client.
  const { shape } = MANNERS.claudeWeb;
  const [first, second] = [0, 1].map(() => beginAuthorization(server, { clientId, shape }));
  if (first === undefined || second === undefined) throw new Error('two');
  const [shownPage, page] = [await openConsent(first), await openConsent(second)];
  const location = await allowOnPage(page, { key: owner.key });
  const sent = await followRedirectBack(server, second, { browser: page.browser, location });
  const registered = await post(server.registration_endpoint, CLIENT_SHAPES.cursor.registration);
  const given = [
    ...[...client.secrets, next.body['access_token'], next.body['refresh_token']],
    ...[shownPage.uid, ...shownPage.browser.seen, page.uid, ...page.browser.seen, first.verifier, second.verifier],
    ...[sent.get('code'), registered.body['registration_access_token']],
  ].map(String);
  const all = [...new Set([...secrets, ...given, owner.key, seller.key])];
  expect(all.length).toBeGreaterThan(60);
  expect(all.filter((secret) => secret.length < 15)).toEqual([]);

  const dump = await dumpTables(world.db.database);
  // Prove that the search finds known text, stored as text and as bytes.
  expect(tablesThatHold(dump, ['Visual Studio Code'])).toContain('hosted_grants');
  expect(tablesThatHold(dump, ['for claudeCode'])).toContain('artifacts');
  expect(dump.get('oauth_artifacts')?.length).toBeGreaterThan(20);
  expect(tablesThatHold(dump, all)).toEqual([]);

  // The inspected text includes error messages and their causes.
  const logged = inspect(world.logLines, {
    depth: 8,
    maxStringLength: null,
    maxArrayLength: null,
    breakLength: Infinity,
  });
  expect(logged).toContain('/oauth/');
  expect(all.flatMap(spellings).filter((secret) => logged.includes(secret))).toEqual([]);
});
