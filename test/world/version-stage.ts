import sql from 'sql-template-tag';
import type { TestAccount } from '../../src/local/chain/accounts.ts';
import { sha256 } from '../../src/platform/canonical-json.ts';
import type { Database } from '../../src/platform/database/database.ts';
import { type Hex, toBytes } from '../../src/platform/hex.ts';
import { systemRandom } from '../../src/platform/random.ts';
import { type Answer, type Member, type SignedProof, signProof, type World } from '../support/market-world.ts';
import type { Goods } from '../support/trade.ts';

export interface NewVersion {
  supersedes: bigint;
  /** Default: true. */
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

/** A live listing that takes the place of another of the same merchant; what is not named is as it was, but for the salt. */
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

/** A purchase with the money on its way, and what was signed for it. */
export async function payFor(
  world: World,
  goods: Goods,
  by: { key?: string; payer: TestAccount },
): Promise<{ answer: Answer; proof: SignedProof }> {
  const proof = await signProof(world.chain, by.payer, goods.terms);
  const answer = await world.buy(goods.id, { ...(by.key === undefined ? {} : { key: by.key }), proof: proof.v2 });
  return { answer, proof };
}

/** What one would look at to see that an act left no trace: purchases, payments, intents and the log. */
export async function booksOf(database: Database): Promise<Record<string, bigint>> {
  return await database.one<Record<string, bigint>>(sql`
    select (select count(*) from purchases) as purchases, (select count(*) from payments) as payments,
      (select count(*) from payment_intents) as intents, (select count(*) from events) as events`);
}

/** One line for the result of a request: what was answered, and whether the goods were in it. */
export function said({ status, body }: Answer): string {
  const reason = body['reason'] ?? body['status'];
  return `${status} ${reason ?? ('artifact' in body ? 'delivered' : 'nothing')}`;
}

export async function purchasesOf(world: World, member: Member): Promise<Record<string, unknown>[]> {
  const { body } = await world.ask('GET', '/api/purchases', { key: member.key });
  return body['purchases'] as Record<string, unknown>[];
}
