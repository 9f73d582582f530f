import pg from 'pg';
import { type TestAccount, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { claim, payDirectly } from './direct.ts';
import { BASE_URL, type Member, signProof, startWorld, type World, type WorldOptions } from './market-world.ts';
import { fundedWallet, listPaid, newGoods, PRICE } from './trade.ts';

/** Access to a market's tables that can change any row and restore all of them. */
export interface LyingBooks {
  plant(lie: string): Promise<void>;
  /** Restores the state at the last `keep`, or at opening if there was none. */
  putBack(): Promise<void>;
  keep(): Promise<void>;
  end(): Promise<void>;
}

/** Disables triggers and foreign keys, so that any change is possible. */
export async function openLyingBooks(url: string): Promise<LyingBooks> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query('set session_replication_role = replica');
  const tables = async (): Promise<string[]> => {
    const found = await client.query<{ name: string }>(
      `select quote_ident(tablename) as name from pg_tables where schemaname = 'public' order by 1`,
    );
    return found.rows.map(({ name }) => name);
  };
  const keep = async (): Promise<void> => {
    await client.query('drop schema if exists kept cascade; create schema kept');
    for (const name of await tables()) await client.query(`create table kept.${name} as table public.${name}`);
  };
  await keep();
  return {
    keep,
    plant: async (lie) => {
      await client.query(lie);
    },
    putBack: async () => {
      const names = await tables();
      const back = names.map((name) => `insert into public.${name} overriding system value select * from kept.${name}`);
      // Deletes instead of truncating, because the market keeps reading these tables in another order and a truncate could deadlock.
      const emptied = names.map((name) => `delete from public.${name}`);
      await client.query(['begin', ...emptied, ...back, 'commit'].join(';'));
    },
    end: () => client.end(),
  };
}

const { sellerOne, buyerOne, buyerTwo } = WORLD_ACCOUNTS;

/** A market in which everything that an auditor checks has happened through regular requests. */
export interface AuditedWorld {
  world: World;
  keeper: Member;
  seller: Member;
  buyers: readonly [Member, Member];
  /** Listing that was bought both by x402 and by direct transfer. */
  goods: bigint;
  /** Free listing that was taken once. */
  gift: bigint;
  list(changes?: Record<string, unknown>): Promise<bigint>;
  buyByX402(listing: bigint, buyer: Member, payer: TestAccount): Promise<void>;
}

export async function startAuditedWorld(options: WorldOptions = {}): Promise<AuditedWorld> {
  const world = await startWorld(options);
  const keeper = await world.join('the-keeper');
  const seller = await world.join('seller-one');
  const buyers = [await world.join('buyer-one'), await world.join('buyer-two')] as const;
  await mustSucceed(201, world.ask('POST', '/api/listing', { key: keeper.key, body: newGoods() }));
  const list = async (changes?: Record<string, unknown>): Promise<bigint> => {
    const { body } = await mustSucceed(201, listPaid(world, seller, newGoods(changes), await fundedWallet(world)));
    return BigInt(Number(body['listing_id']));
  };
  const buyByX402 = async (listing: bigint, buyer: Member, payer: TestAccount): Promise<void> => {
    const resource = `${BASE_URL}/api/buy/${listing}`;
    const proof = await signProof(world.chain, payer, { payTo: sellerOne.address, units: PRICE, resource });
    await world.buy(listing, { key: buyer.key, proof: proof.v2 });
    await world.finalize();
    await mustSucceed(200, world.buy(listing, { key: buyer.key }));
  };
  const goods = await list();
  const gift = await list({ price_usdc: 0 });
  await buyByX402(goods, buyers[0], buyerOne);
  const direct = await payDirectly(world, { buyer: buyers[1], listingId: goods, payer: buyerTwo, units: PRICE });
  await world.finalize();
  await mustSucceed(200, claim(world, buyers[1], goods, direct));
  await mustSucceed(200, world.buy(gift, { key: buyers[0].key }));
  await world.running.eventsSettled();
  return { world, keeper, seller, buyers, goods, gift, list, buyByX402 };
}

async function mustSucceed<Answer extends { status: number; body: unknown }>(
  status: number,
  asked: Promise<Answer>,
): Promise<Answer> {
  const answer = await asked;
  if (answer.status !== status) throw new Error(`${answer.status}: ${JSON.stringify(answer.body)}`);
  return answer;
}
