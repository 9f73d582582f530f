import sql from 'sql-template-tag';
import { expect, it } from 'vitest';
import { ask } from '../../../test/support/ask.ts';
import { testDatabase } from '../../../test/support/database.ts';
import { marketContext } from '../../../test/support/market-context.ts';
import { SEED_TIME, seedMerchant } from '../../../test/support/seed.ts';
import { checksummed } from '../../contract/chain-values.ts';
import { endpoints } from '../../contract/index.ts';
import { toBytes } from '../../platform/hex.ts';
import { systemRandom } from '../../platform/random.ts';
import { makeMerchantKey, makeRecoveryCode } from '../../platform/secrets.ts';
import type { Market } from '../context.ts';
import { createMarket } from '../create-market.ts';
import { getOfficialFacts } from './get-official-facts.ts';

const db = testDatabase();
const read = (market: Market) => ask(market, endpoints.getOfficialFacts, getOfficialFacts);

it('says what is not built or not open with null, false and empty lists', async () => {
  const market = marketContext({ database: db.database });
  const facts = await read({ ...market, config: { ...market.config, openIdentityEndpoints: new Set() } });
  expect(facts).toMatchObject({
    domain: '127.0.0.1:4020',
    deployment_commit: null,
    network: 'base',
    usdc_contract: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
    token: null,
    listing_fee_usdc: 1,
    ordinary_direct_payment: { signature_method: 'personal_sign', intent_minutes: 10 },
    city: null,
    world: null,
    source: null,
    maintainer: { handle: null, merchant_id: 1 },
    x402_facilitator: { x402_versions: [1, 2], verify_deadline_seconds: 8, settle_deadline_seconds: 8, signers: [] },
    identity: { recovery_enabled: false, rotation_enabled: false, hosted_proven_hosts: [], coding_client_doors: null },
    limits: { guard_runs_per_merchant_day: 30, artifact_bytes: 67_108_864, inline_artifact_bytes: 262_144 },
    public_pagination: { sizes: { shelves: 50, purchases: 2, events: 200 } },
  });
});

it('names the city that is linked, and how long its acts may take', async () => {
  const market = marketContext({ database: db.database });
  const facts = await read({ ...market, config: { ...market.config, cityUrl: 'https://city.example' } });
  expect(facts.city).toEqual({ url: 'https://city.example' });
  expect(facts.world).toEqual({ checkout_minutes: 10, reservation_minutes: 5, recovery_hours: 2 });
});

it('names the maintainer and the signers of this chain that were last published, in the order in which they were seen', async () => {
  await seedMerchant(db.database, { handle: 'the-maintainer' });
  const [first, second] = [
    '0x00000000000000000000000000000000000000aa',
    '0x00000000000000000000000000000000000000ab',
  ] as const;
  const see = (chain: bigint, address: `0x${string}`, at: number) => {
    const seen = new Date(SEED_TIME.getTime() + at);
    return db.database.run(sql`
      insert into facilitator_signers (chain_id, address, first_seen_at, last_seen_at)
      values (${chain}, ${toBytes(address)}, ${seen}, ${seen})`);
  };
  await see(8453n, second, 2);
  await see(8453n, first, 1);
  await see(84532n, first, 0);
  await see(8453n, '0x00000000000000000000000000000000000000ac', 0);
  const market = marketContext({ database: db.database });
  await db.database.run(sql`
    insert into facilitator_readings (chain_id, url, read_at, published)
    values (8453, ${market.config.facilitatorUrl}, ${new Date(SEED_TIME.getTime() + 1)}, 2)`);
  const facts = await read(market);
  expect(facts.maintainer.handle).toBe('the-maintainer');
  expect(facts.patterns.reserved_parts).toContain('the-maintainer');
  expect(facts.x402_facilitator.signers).toEqual([first, second].map(checksummed));
});

it('describes the open doors and the form of its secrets truly', async () => {
  const facts = await read(marketContext({ database: db.database }));
  expect(facts.identity.coding_client_doors).toMatchObject({
    register: { url: 'http://127.0.0.1:4020/api/register', actions: ['stage', 'confirm', 'cancel'] },
    rotate: { url: 'http://127.0.0.1:4020/api/rotate', actions: ['begin', 'confirm', 'cancel'] },
    recovery: { actions: ['begin', 'confirm', 'cancel', 'generate'] },
    pair: { url: 'http://127.0.0.1:4020/api/pair', actions: [] },
    client_classes: ['coding_persistent', 'coding_ephemeral'],
    registration_requires_human_approved: true,
    recovery_code_count: 8,
  });
  expect(makeMerchantKey(systemRandom, 'aisle')).toMatch(new RegExp(facts.patterns.key));
  expect(makeRecoveryCode(systemRandom, 'aisle')).toMatch(new RegExp(facts.patterns.recovery_code));
  expect(facts.patterns.reserved).toContain('treasury');
  expect(facts.patterns.reserved_parts).toEqual(expect.arrayContaining(['official', 'openaisle', 'support']));
});

it('publishes no address of its own that nothing answers', async () => {
  const market = marketContext({ database: db.database });
  const own = (value: unknown): string[] => {
    if (typeof value === 'string') return value.startsWith(market.config.baseUrl) ? [value] : [];
    return typeof value === 'object' && value !== null ? Object.values(value).flatMap(own) : [];
  };
  const published = own(await read(market)).map((address) => address.slice(market.config.baseUrl.length));
  expect(published).toEqual(expect.arrayContaining(['/join', '/mcp/connect']));
  // Accept endpoints, pages and mounts. A path that only takes POST answers 405, not 404, so it counts as well.
  const { http } = createMarket(market);
  const isAnswered = async (url: string): Promise<boolean> => (await http.inject({ url })).statusCode !== 404;
  expect(await isAnswered('/nothing-is-here')).toBe(false);
  for (const path of published) expect(await isAnswered(path), path).toBe(true);
  await http.close({ drainMs: 0 });
});
