import sql, { type Sql } from 'sql-template-tag';
import { describe, expect, it } from 'vitest';
import { resumePayments } from '../../src/market/payments/chain/commands.ts';
import { haltPayments } from '../../src/market/payments/chain/store.ts';
import { constraintOf } from '../../src/platform/database/database-error.ts';
import { toBytes } from '../../src/platform/hex.ts';
import { claim, openIntent, signChallenge, transfer } from '../support/direct.ts';
import { PRICE } from '../support/trade.ts';
import { attemptCases, claimCases } from './review-cases.ts';
import { reviewStage, statusAndReason } from './review-stage.ts';

const stage = await reviewStage();

/** Returns the constraint (or SQLSTATE) that the statements violate in one transaction. Null if they succeed. */
async function brokenRule(...statements: Sql[]): Promise<string | null> {
  const { database } = stage.world.db;
  const undo = new Error('undo');
  try {
    await database.transaction(async (tx) => {
      for (const statement of statements) await tx.run(statement);
      // Run deferred checks now, because the transaction never commits.
      await tx.run(sql`set constraints all immediate`);
      throw undo;
    });
  } catch (error) {
    if (error === undo) return null;
    const broken = constraintOf(error);
    if (broken === null) throw error;
    return broken.constraint ?? broken.sqlstate;
  }
  return null;
}

async function refusedByAll(statements: Readonly<Record<string, Sql | Sql[]>>): Promise<void> {
  const taken: string[] = [];
  for (const [what, statement] of Object.entries(statements)) {
    if ((await brokenRule(...[statement].flat())) === null) taken.push(what);
  }
  expect(taken).toEqual([]);
}

const bytes = (length: number) => Buffer.alloc(length, 9);
/** Assignments that end a payment. */
const ended = sql`ended_at = now(), updated_at = now()`;
const reviewedNow = sql`reviewed_at = now(), updated_at = now()`;

/** Inserts an open claim with one unseen transaction. */
async function openClaim(named?: object) {
  const { world } = stage;
  const [goods, buyer, payer] = [await stage.goods(), await stage.person(), await stage.wallet()];
  const intent = await openIntent(world, buyer, goods.id, named && { payer_wallet: payer.address });
  const signature = await signChallenge(payer, intent);
  const txHash = `0x${'cd'.repeat(32)}`;
  const answer = await claim(world, buyer, goods.id, { intent, signature, txHash });
  expect(answer.status).toBe(202);
  return { id: (answer.body['payment'] as { id: number }).id, intent, payer, goods, buyer };
}

const proofOf = (id: number, hash: Buffer, purpose: string) =>
  sql`insert into payment_proofs (tx_hash, purpose, payment_id, block_number, block_hash, block_time, log_index, value_units, written_at)
    values (${hash}, ${purpose}, ${id}, 1, ${bytes(32)}, now(), 0, 1, now())`;

describe('no statement', () => {
  it('changes, ends or forgets an intent', async () => {
    const { intent } = await openClaim();
    const id = Buffer.from(intent.id, 'hex');
    await refusedByAll({
      'a cheaper intent': sql`update payment_intents set minimum_units = 1 where id = ${id}`,
      'a longer window': sql`update payment_intents set expires_at = expires_at + interval '1 minute' where id = ${id}`,
      'another payer': sql`update payment_intents set payer = ${bytes(20)} where id = ${id}`,
      'nothing at all': sql`update payment_intents set id = id where id = ${id}`,
      'no intent': sql`delete from payment_intents where id = ${id}`,
      'no intents': sql`truncate payment_intents cascade`,
      'an intent of eleven minutes': sql`insert into payment_intents select ${bytes(16)}, purpose, listing_id, merchant_id, chain_id, asset,
        payee, payer, minimum_units, nonce, challenge, created_at, created_at + interval '11 minutes' from payment_intents where id = ${id}`,
    });
  });

  it('ends a claim as paid without a proof, by whatever words', async () => {
    const { id, goods } = await openClaim();
    const complete = sql`update payments set status = 'completed', ${ended} where id = ${id}`;
    const words = sql`review_outcome = 'deliver', end_reason = 'transaction_used', ${reviewedNow}`;
    await refusedByAll({
      'a completed claim': complete,
      'a claim completed as if reviewed': sql`update payments set status = 'completed', ended_at = now(), ${words} where id = ${id}`,
      'the same through a review of a transaction that proves nothing': [
        sql`update payments set status = 'needs_review', end_reason = 'transaction_used', tx_hash = ${bytes(32)}, block_number = 1,
          block_time = now(), ${ended} where id = ${id}`,
        sql`update payments set status = 'completed', review_outcome = 'deliver', ${reviewedNow} where id = ${id}`,
      ],
      'a review without a transaction': sql`update payments set status = 'needs_review', end_reason = 'amount_too_little', ${ended} where id = ${id}`,
      'a claim completed by a refund': [complete, proofOf(id, bytes(32), 'refund')],
      'a claim completed by a fee': [complete, proofOf(id, bytes(32), 'listing_fee')],
      'a reason that is none': [
        sql`update payments set status = 'completed', end_reason = 'x', ${ended} where id = ${id}`,
        proofOf(id, bytes(32), 'purchase'),
      ],
      'a rejected claim': sql`update payments set status = 'rejected', end_reason = 'x', ${ended} where id = ${id}`,
      'a decision on what is open': sql`update payments set review_outcome = 'declined', ${reviewedNow} where id = ${id}`,
      'an unpaid claim that was decided on': sql`update payments set status = 'unpaid', end_reason = 'x', ended_at = now(),
        review_outcome = 'declined', ${reviewedNow} where id = ${id}`,
      'a purchase of it': sql`insert into purchases (listing_id, payment_id, payer, price_units, paid_units, tx_hash, verified_via, created_at)
        values (${goods.id}, ${id}, ${bytes(20)}, 1, 1, ${bytes(32)}, 'direct', now())`,
      'a purchase of it without a transaction': sql`insert into purchases (listing_id, payment_id, payer, price_units, paid_units, verified_via,
        created_at) values (${goods.id}, ${id}, ${bytes(20)}, 1, 1, 'direct', now())`,
    });
  });

  it('decides on a review but in one of three ways, once', async () => {
    const { id, txHash } = await reviewRow();
    const set = (words: Sql): Sql => sql`update payments set ${words} where id = ${id}`;
    await refusedByAll({
      'rejected without an outcome': set(sql`status = 'rejected', updated_at = now()`),
      'rejected without a time': set(sql`status = 'rejected', review_outcome = 'declined'`),
      'completed without an outcome': set(sql`status = 'completed', updated_at = now()`),
      'completed and declined': set(sql`status = 'completed', review_outcome = 'declined', ${reviewedNow}`),
      'completed and declined for no reason': set(
        sql`status = 'completed', review_outcome = 'declined', end_reason = null, ${reviewedNow}`,
      ),
      'completed for no reason': set(
        sql`status = 'completed', review_outcome = 'deliver', end_reason = null, ${reviewedNow}`,
      ),
      'rejected and delivered': set(sql`status = 'rejected', review_outcome = 'deliver', ${reviewedNow}`),
      'decided and still in review': set(sql`review_outcome = 'declined', ${reviewedNow}`),
      'another reason': set(sql`end_reason = 'transaction_used'`),
      'unpaid after all': set(sql`status = 'unpaid'`),
      'open once more': set(sql`status = 'settling', end_reason = null, ended_at = null`),
      'refunded without a refund': set(sql`status = 'rejected', review_outcome = 'refunded', ${reviewedNow}`),
      'refunded by its own payment': [
        set(sql`status = 'rejected', review_outcome = 'refunded', ${reviewedNow}`),
        proofOf(id, txHash, 'refund'),
      ],
      'refunded twice': [proofOf(id, bytes(32), 'refund'), proofOf(id, Buffer.alloc(32, 8), 'refund')],
      'a proof of something else': proofOf(id, bytes(32), 'gift'),
      'another proof': proofOf(id, bytes(32), 'purchase'),
      'sold while in review': sql`insert into purchases (listing_id, payment_id, payer, price_units, paid_units, tx_hash, verified_via, created_at)
        select listing_id, id, payer, 1, 1, tx_hash, 'direct', now() from payments where id = ${id}`,
    });
    expect((await stage.decide(stage.seller, id, { outcome: 'declined' })).status).toBe(200);
    await refusedByAll({
      'decided again': set(sql`status = 'completed', review_outcome = 'deliver', ${reviewedNow}`),
      'another note': set(sql`review_note = 'x'`),
      'no payment': sql`delete from payments where id = ${id}`,
      'no proof': sql`delete from payment_proofs where payment_id = ${id}`,
      'another proof purpose': sql`update payment_proofs set purpose = 'refund' where payment_id = ${id}`,
    });
  });

  it('names more than five undecided transactions, or binds another wallet than the intent names', async () => {
    const [named, free] = [await openClaim({ named: true }), await openClaim()];
    const names = (id: number, count: number) =>
      sql`insert into claim_hashes (payment_id, tx_hash) select ${id}, decode(lpad(to_hex(n), 64, '0'), 'hex') from generate_series(1, ${count}::int) n`;
    const payer = (id: number) => sql`update payments set payer = ${bytes(20)} where id = ${id}`;
    expect(await brokenRule(names(free.id, 4))).toBeNull();
    expect(await brokenRule(payer(free.id))).toBeNull();
    await refusedByAll({
      'a sixth': names(free.id, 5),
      'a sixth that was refused before': [
        names(free.id, 4),
        sql`insert into claim_hashes (payment_id, tx_hash, refused_reason) values (${free.id}, ${bytes(32)}, 'wrong_payer')`,
        sql`update claim_hashes set refused_reason = null where payment_id = ${free.id}`,
      ],
      'one that is short': sql`insert into claim_hashes (payment_id, tx_hash) values (${free.id}, ${bytes(31)})`,
      'another payer': payer(named.id),
      'another payer at the end': [
        proofOf(free.id, bytes(32), 'purchase'),
        sql`update payments set payer = ${bytes(20)}, status = 'completed', ${ended} where id = ${free.id}`,
      ],
      'another window': sql`update payments set window_to = window_to + interval '1 day' where id = ${free.id}`,
      'another intent': sql`update payments set intent_id = ${Buffer.from(named.intent.id, 'hex')} where id = ${free.id}`,
      'another price': sql`update payments set value_units = 1 where id = ${free.id}`,
      'no surplus': sql`update payments set surplus = true where id = ${free.id}`,
      'a second claim of the intent': sql`insert into payments (purpose, path, status, listing_id, merchant_id, chain_id, asset, payee, payer,
        value_units, intent_id, window_from, window_to, surplus, settling_at, created_at, updated_at)
        select purpose, path, status, listing_id, merchant_id, chain_id, asset, payee, ${bytes(20)}, value_units, intent_id, window_from,
          window_to, true, settling_at, created_at, updated_at from payments where id = ${free.id}`,
    });
  });

  it('begins a claim with other terms than those of its intent', async () => {
    const { id, intent } = await openClaim({ named: true });
    const other = await openClaim();
    const copied = (changes: Readonly<Record<string, Sql>>): Sql[] => {
      const column = (name: string): Sql => changes[name] ?? sql``;
      const pick = (name: string, own: Sql): Sql => (changes[name] === undefined ? own : column(name));
      return [
        sql`update payments set status = 'unpaid', end_reason = 'x', ${ended} where id = ${id}`,
        sql`insert into payments (purpose, path, status, listing_id, merchant_id, chain_id, asset, payee, payer, value_units, intent_id,
            window_from, window_to, surplus, settling_at, created_at, updated_at, review_outcome, reviewed_at)
          select purpose, path, ${pick('status', sql`'settling'`)}, ${pick('listing_id', sql`listing_id`)},
            ${pick('merchant_id', sql`merchant_id`)}, chain_id, asset, ${pick('payee', sql`payee`)}, ${pick('payer', sql`payer`)},
            ${pick('value_units', sql`value_units`)}, intent_id, ${pick('window_from', sql`window_from`)},
            ${pick('window_to', sql`window_to`)}, false, now(), now(), now(), ${pick('review_outcome', sql`null`)},
            ${pick('reviewed_at', sql`null`)} from payments where id = ${id}`,
      ];
    };
    expect(await brokenRule(...copied({}))).toBeNull();
    await refusedByAll({
      'another wallet': copied({ payer: sql`${bytes(20)}` }),
      'another payee': copied({ payee: sql`${bytes(20)}` }),
      'a lower price': copied({ value_units: sql`1` }),
      'other goods': copied({ listing_id: sql`${other.goods.id}::bigint` }),
      'another merchant': copied({ merchant_id: sql`${other.buyer.id}::bigint` }),
      'an earlier begin': copied({ window_from: sql`window_from - interval '1 second'` }),
      'a later end': copied({ window_to: sql`window_to + interval '1 second'` }),
      'no open status': copied({ status: sql`'verifying'` }),
      'a decision': copied({ review_outcome: sql`'deliver'`, reviewed_at: sql`now()` }),
    });
    expect(intent.payer_wallet).not.toBeNull();
  });

  it('proves two things by one transaction, a refund among them', async () => {
    const { id, txHash } = await reviewRow();
    const other = await reviewRow();
    const x402 = await attemptCases.transaction_used(stage);
    await refusedByAll({
      'as a refund of another': proofOf(other.id, txHash, 'refund'),
      'as a refund of two': [proofOf(id, bytes(32), 'refund'), proofOf(other.id, bytes(32), 'refund')],
      'as a purchase after a refund': [proofOf(id, bytes(32), 'refund'), proofOf(x402.id, bytes(32), 'purchase')],
      'as a fee': proofOf(x402.id, txHash, 'listing_fee'),
    });
  });
});

async function reviewRow(): Promise<{ id: number; txHash: Buffer }> {
  const { id } = await claimCases.amount_too_little(stage);
  const row = await stage.world.db.database.one<{ tx_hash: Buffer }>(
    sql`select tx_hash from payment_proofs where payment_id = ${id}`,
  );
  return { id, txHash: row.tx_hash };
}

it('an undecided review does not keep the seller from editing; an open claim does', async () => {
  const edit = (id: bigint) =>
    stage.world.ask('PATCH', `/api/listing/${id}`, { key: stage.seller.key, body: { description: 'said better' } });
  const made = await claimCases.amount_too_little(stage);
  expect((await edit(made.goods.id)).status).toBe(200);
  const open = await openClaim();
  expect((await edit(open.goods.id)).body['reason']).toBe('purchase_pending');
  const { seller_wallet: payee } = open.intent;
  const txHash = await transfer(stage.world, open.payer, payee, PRICE);
  const signature = await signChallenge(open.payer, open.intent);
  await stage.finalize();
  await claim(stage.world, open.buyer, open.goods.id, { intent: open.intent, signature, txHash });
  expect((await edit(open.goods.id)).body['reason']).toBe('listing_closed');
  expect(toBytes(txHash).length).toBe(32);
});

it('while payments are halted no review ends with a delivery; once they are resumed it does', async () => {
  const { id } = await claimCases.amount_too_little(stage);
  const halt = { chainId: 8453n, reason: 'finalized_conflict', detail: 'a test', now: new Date() } as const;
  await stage.world.db.database.transaction((tx) => haltPayments(tx, halt));
  const refused = await stage.decide(stage.seller, id, { outcome: 'deliver' });
  expect(statusAndReason(refused)).toEqual([503, 'payment_preserved']);
  await resumePayments(stage.world.running.market, 'a test');
  expect((await stage.decide(stage.seller, id, { outcome: 'deliver' })).status).toBe(200);
});
