import sql from 'sql-template-tag';
import { afterAll, beforeAll, expect } from 'vitest';
import { type TestAccount, USDC_ADDRESS, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { sha256 } from '../../src/platform/canonical-json.ts';
import { systemClock } from '../../src/platform/clock.ts';
import type { Database } from '../../src/platform/database/database.ts';
import { type Hex, toBytes } from '../../src/platform/hex.ts';
import { systemRandom } from '../../src/platform/random.ts';
import { audit } from '../audit/audit.ts';
import {
  type Answer,
  BASE_URL,
  type Member,
  type SignedProof,
  signProof,
  type World,
} from '../support/market-world.ts';
import { type Goods, PRICE, type ScriptedTrade, scriptedTrade } from '../support/trade.ts';

export interface NewVersion {
  supersedes: bigint;
  /** Whether earlier buyers are entitled to this version. Default: true. */
  entitles?: boolean;
  priceUnits?: bigint;
  artifact?: string;
  createdAt: Date;
  title?: string;
  description?: string;
  preview?: string;
  tags?: string[];
  aisle?: string;
  wallet?: Hex;
  mediaType?: string;
}

/** Inserts a live listing that replaces another one of the same merchant. Omitted fields are copied, except for the salt. */
export async function seedVersion(database: Database, given: NewVersion): Promise<bigint> {
  const salt = systemRandom.bytes(32);
  const content = given.artifact === undefined ? null : Buffer.from(given.artifact);
  return await database.transaction(async (tx) => {
    await tx.lock('listings');
    if (given.wallet !== undefined) {
      await tx.run(
        sql`insert into wallet_uses (wallet, kind) values (${toBytes(given.wallet)}, 'ordinary') on conflict do nothing`,
      );
    }
    const { id } = await tx.one<{ id: bigint }>(sql`
      insert into listings (id, merchant_id, title, description, preview, price_units, seller_wallet, tags, aisle, created_at,
        artifact_commitment, artifact_bytes, artifact_encoding, artifact_media_type, artifact_filename, body_hash, supersedes,
        entitles_previous_buyers)
      select (select max(id) + 1 from listings), l.merchant_id, coalesce(${given.title ?? null}, l.title),
        coalesce(${given.description ?? null}, l.description), coalesce(${given.preview ?? null}, l.preview),
        coalesce(${given.priceUnits ?? null}, l.price_units),
        coalesce(${given.wallet === undefined ? null : toBytes(given.wallet)}, l.seller_wallet),
        coalesce(${given.tags ?? null}::text[], l.tags), coalesce(${given.aisle ?? null}, l.aisle), ${given.createdAt},
        sha256(${salt} || coalesce(${content}, a.content)), length(coalesce(${content}, a.content)), l.artifact_encoding,
        coalesce(${given.mediaType ?? null}, l.artifact_media_type), l.artifact_filename, ${sha256(salt)}, l.id,
        ${given.entitles ?? true}
      from listings l join artifacts a on a.listing_id = l.id where l.id = ${given.supersedes}
      returning id`);
    await tx.run(sql`
      insert into artifacts (listing_id, salt, content)
      select ${id}, ${salt}, coalesce(${content}, content) from artifacts where listing_id = ${given.supersedes}`);
    return id;
  });
}

/** Starts a purchase and returns its proof and the answer. */
export async function payFor(
  world: World,
  goods: Goods,
  by: { key?: string; payer: TestAccount },
): Promise<{ answer: Answer; proof: SignedProof }> {
  const proof = await signProof(world.chain, by.payer, goods.terms);
  const answer = await world.buy(goods.id, { ...(by.key === undefined ? {} : { key: by.key }), proof: proof.v2 });
  return { answer, proof };
}

/** Counts purchases, payments, intents and events, to check that an operation stored no row. */
async function booksOf(database: Database): Promise<Record<string, bigint>> {
  return await database.one<Record<string, bigint>>(sql`
    select (select count(*) from purchases) as purchases, (select count(*) from payments) as payments,
      (select count(*) from payment_intents) as intents, (select count(*) from events) as events`);
}

/** Formats an answer in one line with status, reason, and whether it contained the goods. */
export function said({ status, body }: Answer): string {
  const reason = body['reason'] ?? body['status'];
  return `${status} ${reason ?? ('artifact' in body ? 'delivered' : 'nothing')}`;
}

export async function purchasesOf(world: World, member: Member): Promise<Record<string, unknown>[]> {
  const { body } = await world.ask('GET', '/api/purchases', { key: member.key });
  return body['purchases'] as Record<string, unknown>[];
}

const NEWER_PRICE = 2n * PRICE;
export const NEWER_GOODS = 'secret goods of the newer version';

interface VersionTrade extends ScriptedTrade {
  /** Creates a version. Defaults: created now, entitles earlier buyers, costs twice the price. */
  version(supersedes: bigint, given?: Partial<NewVersion>): Promise<Goods>;
  /** Buys these goods with finality and returns the paying wallet. */
  bought(listing: Goods, key?: string): Promise<TestAccount>;
  /** Removes a listing at a time later than every block so far. */
  remove(id: bigint): Promise<void>;
  /** Checks that `act` inserts no row and does not call the facilitator. */
  withoutTrace<T>(act: () => Promise<T>): Promise<T>;
}

/** Creates a world in which versions are made and bought. At the end, its books are compared with the chain. */
export async function versionTrade(): Promise<VersionTrade> {
  const trade = await scriptedTrade();
  const { facilitator, world, wallet } = trade;
  beforeAll(() => trade.forward());
  afterAll(async () => {
    await world.running.payments.reconcileOnce();
    const { faults } = await audit({ databaseUrl: world.db.url, rpcUrl: world.chain.url, token: USDC_ADDRESS });
    // These listings were inserted directly, without a fee.
    const seeded = /^(a listing without a fee|no event tells of this: maintainer_seed)/;
    expect(faults.filter((fault) => !seeded.test(fault))).toEqual([]);
  });
  return {
    ...trade,
    version: async (supersedes, given = {}) => {
      const artifact = given.artifact ?? NEWER_GOODS;
      const units = given.priceUnits ?? NEWER_PRICE;
      const createdAt = new Date(systemClock.now());
      const made = { supersedes, artifact, priceUnits: units, createdAt, ...given };
      const id = await seedVersion(world.db.database, made);
      await world.running.eventsSettled();
      const terms = {
        payTo: WORLD_ACCOUNTS.sellerOne.address,
        units,
        resource: `${BASE_URL}/api/buy/${id}`,
        get now() {
          return systemClock.now();
        },
      };
      return { id, artifact, terms };
    },
    bought: async (listing, key) => {
      const payer = await wallet();
      const { answer } = await payFor(world, listing, { payer, ...(key === undefined ? {} : { key }) });
      expect(answer.status).toBe(202);
      await world.finalize();
      await world.running.payments.reconcileOnce();
      return payer;
    },
    remove: async (id) => {
      await world.db.database.run(sql`
        update listings set state = 'removed', removed_at = now() + interval '1 hour', removed_reason = 'not allowed',
          removed_reason_code = 'policy' where id = ${id}`);
    },
    withoutTrace: async (act) => {
      const { verify, settle } = facilitator.calls;
      const before = await booksOf(world.db.database);
      const answer = await act();
      expect(await booksOf(world.db.database)).toEqual(before);
      expect(facilitator.calls).toEqual({ verify, settle });
      return answer;
    },
  };
}
