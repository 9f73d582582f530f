import pg from 'pg';
import { type TestAccount, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { claim, payDirectly } from './direct.ts';
import { BASE_URL, type Member, signProof, startWorld, type World, type WorldOptions } from './market-world.ts';
import { fundedWallet, listPaid, newGoods, PRICE } from './trade.ts';

/** Books in which anything can be changed, and put back as it was. */
export interface LyingBooks {
  plant(lie: string): Promise<void>;
  /** What was found when the books were opened, or when `keep` was last called. */
  putBack(): Promise<void>;
  keep(): Promise<void>;
  end(): Promise<void>;
}

/** No trigger and no foreign key stands in the way of a lie. */
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
      // Not truncated: the market goes on reading these tables, in an order of its own, and one of the two would have to give way.
      const emptied = names.map((name) => `delete from public.${name}`);
      await client.query(['begin', ...emptied, ...back, 'commit'].join(';'));
    },
    end: () => client.end(),
  };
}

const { sellerOne, buyerOne, buyerTwo } = WORLD_ACCOUNTS;

/** A market in which everything that an auditor looks at has happened, by the market's own doors. */
export interface AuditedWorld {
  world: World;
  /** The maintainer. */
  keeper: Member;
  seller: Member;
  buyers: readonly [Member, Member];
  /** Paid for by x402 and directly. */
  goods: bigint;
  /** Free of charge, and given out once. */
  gift: bigint;
  list(changes?: Record<string, unknown>): Promise<bigint>;
  buyByX402(listing: bigint, buyer: Member, payer: TestAccount): Promise<void>;
}

export async function startAuditedWorld(options: WorldOptions = {}): Promise<AuditedWorld> {
  const world = await startWorld(options);
  const keeper = await world.join('the-keeper');
  const seller = await world.join('seller-one');
  const buyers = [await world.join('buyer-one'), await world.join('buyer-two')] as const;
  await must(201, world.ask('POST', '/api/listing', { key: keeper.key, body: newGoods() }));
  const list = async (changes?: Record<string, unknown>): Promise<bigint> => {
    const { body } = await must(201, listPaid(world, seller, newGoods(changes), await fundedWallet(world)));
    return BigInt(Number(body['listing_id']));
  };
  const buyByX402 = async (listing: bigint, buyer: Member, payer: TestAccount): Promise<void> => {
    const resource = `${BASE_URL}/api/buy/${listing}`;
    const proof = await signProof(world.chain, payer, { payTo: sellerOne.address, units: PRICE, resource });
    await world.buy(listing, { key: buyer.key, proof: proof.v2 });
    await world.finalize();
    await must(200, world.buy(listing, { key: buyer.key }));
  };
  const goods = await list();
  const gift = await list({ price_usdc: 0 });
  await buyByX402(goods, buyers[0], buyerOne);
  const direct = await payDirectly(world, { buyer: buyers[1], listingId: goods, payer: buyerTwo, units: PRICE });
  await world.finalize();
  await must(200, claim(world, buyers[1], goods, direct));
  await must(200, world.buy(gift, { key: buyers[0].key }));
  await world.running.eventsSettled();
  return { world, keeper, seller, buyers, goods, gift, list, buyByX402 };
}

async function must<Answer extends { status: number; body: unknown }>(
  status: number,
  asked: Promise<Answer>,
): Promise<Answer> {
  const answer = await asked;
  if (answer.status !== status) throw new Error(`${answer.status}: ${JSON.stringify(answer.body)}`);
  return answer;
}
