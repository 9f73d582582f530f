import sql from 'sql-template-tag';
import { describe, expect, it } from 'vitest';
import type { City } from '../../src/city/context.ts';
import { createSweep } from '../../src/city/offers/sweep.ts';
import { USDC_ADDRESS } from '../../src/local/chain/accounts.ts';
import { send } from '../../src/local/chain/transactions.ts';
import { createProviderHealth, createProviders } from '../../src/platform/chain/providers.ts';
import type { Hex } from '../../src/platform/hex.ts';
import { reasonOf } from '../support/ask.ts';
import { rawTransaction, reorg, settleData, signAuthorization } from '../support/chain.ts';
import { citySale, type OpenedOffer, type Person, PRICE, type ReservationOut } from './city-sale.ts';
import { createContractWallet } from './contract-wallet.ts';

const sale = citySale({ finalityBlocks: 4 });

interface Held {
  offer: OpenedOffer;
  buyer: Person;
  reservation: ReservationOut;
}

const TWO_HOURS = 7_200;
const hash = (digit: string): Hex => `0x${digit.repeat(64)}`;

async function holdOffer(): Promise<Held> {
  const [offer, buyer] = [await sale.offer(), await sale.person()];
  return { offer, buyer, reservation: await sale.reserve(offer, buyer) };
}

const payFor = ({ offer, buyer }: Held, units = PRICE): Promise<Hex> =>
  sale.pay({ from: buyer.wallet, to: offer.seller.wallet.address, units });
const claim = ({ offer, buyer, reservation }: Held, txHash: Hex) =>
  sale.claim(offer, buyer, txHash, reservation.challenge);
const bookOf = async ({ id }: OpenedOffer) =>
  sale.db.database.one<{ phase: string; end_reason: string | null }>(
    sql`select phase, end_reason from offers where id = ${id}`,
  );
const ownerOf = async ({ thingId }: OpenedOffer): Promise<bigint> =>
  (await sale.db.database.one<{ owner_id: bigint }>(sql`select owner_id from things where id = ${thingId}`)).owner_id;
/** Returns the city with chain providers that do not answer. */
const blindCity = (): City => {
  const providers = createProviders(['http://127.0.0.1:1'], sale.clock);
  return { ...sale.city, providers, providerHealth: createProviderHealth(providers, sale.clock) };
};
const pass = async (seconds: number): Promise<void> => sale.mineAt((await sale.time()) + seconds);

describe('what a final transaction does not keep to ends the offer without a sale', () => {
  it.each<[string, (one: Held) => Promise<Hex>]>([
    ['amount_too_little', (one) => payFor(one, PRICE - 1n)],
    [
      'wrong_payer',
      async ({ offer }) => sale.pay({ from: (await sale.person()).wallet, to: offer.seller.wallet.address }),
    ],
    ['wrong_payee', async ({ buyer }) => sale.pay({ from: buyer.wallet, to: (await sale.person()).wallet.address })],
  ])('%s', async (reason, pay) => {
    const one = await holdOffer();
    const txHash = await pay(one);
    expect((await claim(one, txHash)).body.offer.phase).toBe('payment_pending');
    await sale.finalize();
    const refusal = { reason: 'world_payment_invalid', message: expect.stringContaining(reason) };
    await expect(claim(one, txHash)).rejects.toMatchObject(refusal);
    await expect(claim(one, txHash)).rejects.toMatchObject(refusal);
    expect(await bookOf(one.offer)).toEqual({ phase: 'payment_invalid', end_reason: reason });
    expect(await reasonOf(sale.reserve(one.offer, one.buyer))).toBe('offer_closed');
    const canceled = await sale.cancel(one.offer, one.offer.seller);
    expect(canceled).toMatchObject({
      phase: 'canceled',
      buyer: one.buyer.handle,
      reserved_at: one.reservation.reserved_at,
    });
    expect(await reasonOf(claim(one, txHash))).toBe('offer_closed');
    expect(await ownerOf(one.offer)).toBe(one.offer.seller.id);
  });

  it('it is found at once where the transaction is final already', async () => {
    const one = await holdOffer();
    const txHash = await payFor(one, 1n);
    await sale.finalize();
    expect(await reasonOf(claim(one, txHash))).toBe('world_payment_invalid');
  });

  it('not while another transaction that was named fits', async () => {
    const one = await holdOffer();
    const little = await payFor(one, 1n);
    await claim(one, little);
    await sale.finalize();
    const enough = await payFor(one);
    expect((await claim(one, enough)).body.offer.phase).toBe('payment_pending');
    await sale.finalize();
    expect((await claim(one, little)).status).toBe(200);
    expect((await sale.read(one.offer)).tx_hash).toBe(enough);
  });
});

describe('a transaction with nothing of theirs is refused, and the offer goes on', () => {
  it('when it is final; before that it waits', async () => {
    const one = await holdOffer();
    const [two, three] = [await sale.person(), await sale.person()];
    const txHash = await sale.pay({ from: two.wallet, to: three.wallet.address });
    expect(await claim(one, txHash)).toMatchObject({ status: 202, body: { offer: { phase: 'reserved' } } });
    await sale.finalize();
    expect(await reasonOf(claim(one, txHash))).toBe('transfer_not_found');
    expect(await sale.phase(one.offer)).toBe('reserved');
    const paid = await payFor(one);
    await claim(one, paid);
    await sale.finalize();
    expect((await claim(one, paid)).status).toBe(200);
  });

  it('one that failed is refused too', async () => {
    const one = await holdOffer();
    const reverted = await send(sale.chain, one.buyer.wallet, { to: USDC_ADDRESS, data: '0xa9059cbb' });
    expect(reverted.status).toBe('reverted');
    await sale.finalize();
    expect(await reasonOf(claim(one, reverted.transactionHash))).toBe('transfer_not_found');
    expect(await sale.phase(one.offer)).toBe('reserved');
  });
});

describe('one transaction proves one sale', () => {
  it('one that has bought something is refused for everything else, and nothing is named', async () => {
    const one = await holdOffer();
    const txHash = await payFor(one);
    await sale.finalize();
    await claim(one, txHash);
    const two = await holdOffer();
    expect(await reasonOf(claim(two, txHash))).toBe('transaction_used');
    const { named } = await sale.db.database.one<{ named: bigint }>(
      sql`select count(*) as named from claims where reservation_id = ${two.reservation.id}`,
    );
    expect(named).toBe(0n);
  });

  it('claimed for two at once it buys one of them, and the other goes on', async () => {
    const seller = await sale.offer();
    const [one, other] = [await holdOffer(), await holdOffer()];
    // Both offers get the same seller wallet and the same payer wallet.
    const wallet = seller.seller.wallet.address;
    await sale.db.database.transaction(async (tx) => {
      await tx.run(sql`set local session_replication_role = replica`);
      await tx.run(sql`update offers set seller_wallet = ${Buffer.from(wallet.slice(2), 'hex')}
        where id in (${one.offer.id}, ${other.offer.id})`);
      await tx.run(sql`update reservations set payer_wallet = ${Buffer.from(one.buyer.wallet.address.slice(2), 'hex')}
        where id = ${other.reservation.id}`);
    });
    const txHash = await sale.pay({ from: one.buyer.wallet, to: wallet });
    await claim(one, txHash);
    await sale.claim(other.offer, other.buyer, txHash, other.reservation.challenge, one.buyer.wallet);
    await sale.finalize();
    await Promise.all([sale.reconcile(one.offer, one.buyer), sale.reconcile(other.offer, one.buyer)]);
    const phases = [await sale.phase(one.offer), await sale.phase(other.offer)];
    expect(phases.toSorted()).toEqual(['claimed', 'payment_pending']);
    const proofs = await sale.db.database.rows(
      sql`select offer_id from sale_proofs where tx_hash = ${Buffer.from(txHash.slice(2), 'hex')}`,
    );
    expect(proofs).toHaveLength(1);
    const refused = await sale.db.database.rows(
      sql`select refused from claims where reservation_id in (${one.reservation.id}, ${other.reservation.id}) order by refused`,
    );
    expect(refused).toEqual([{ refused: 'transaction_used' }, { refused: null }]);
  });
});

describe('two hours', () => {
  it('without a transfer that fits it expires; the second before it does not', async () => {
    const one = await holdOffer();
    const txHash = await payFor(one, 1n);
    await claim(one, txHash);
    const since = sale.clock.now();
    await reorg(sale.chain, 1);
    sale.clock.set(since + (TWO_HOURS - 1) * 1_000);
    expect((await sale.reconcile(one.offer, one.buyer)).phase).toBe('payment_pending');
    sale.clock.set(since + TWO_HOURS * 1_000);
    expect((await sale.reconcile(one.offer, one.buyer)).phase).toBe('payment_expired');
    await expect(claim(one, txHash)).rejects.toMatchObject({
      reason: 'offer_closed',
      options: { fields: { offer: { phase: 'payment_expired', locked: true } } },
    });
    expect((await sale.cancel(one.offer, one.offer.seller)).locked).toBe(false);
    await sale.mineAt(since / 1_000 + TWO_HOURS + 10);
  });

  it('with one that was seen, be it for a moment, a person looks at it', async () => {
    const one = await holdOffer();
    const txHash = await payFor(one);
    expect((await claim(one, txHash)).body.offer.phase).toBe('payment_pending');
    const since = sale.clock.now();
    await reorg(sale.chain, 1);
    expect(await sale.reconcile(one.offer, one.buyer)).toMatchObject({ phase: 'payment_pending' });
    await sale.mineAt(since / 1_000 + TWO_HOURS);
    expect((await sale.reconcile(one.offer, one.buyer)).phase).toBe('founder_review');
    expect(await reasonOf(claim(one, txHash))).toBe('offer_closed');
    expect(await ownerOf(one.offer)).toBe(one.offer.seller.id);
  });

  it('what is final by then is sold, however late it is looked at', async () => {
    const one = await holdOffer();
    const txHash = await payFor(one);
    await claim(one, txHash);
    await sale.finalize();
    await pass(TWO_HOURS + 60);
    expect((await sale.reconcile(one.offer, one.buyer)).phase).toBe('claimed');
  });

  it('they end the wait also where the chain cannot be read, and nothing else does', async () => {
    const [seen, unseen, reserved] = [await holdOffer(), await holdOffer(), await holdOffer()];
    await claim(seen, await payFor(seen));
    await claim(unseen, await payFor(unseen, 1n));
    const sweep = createSweep(blindCity(), 1_000);
    sale.clock.set(sale.clock.now() + (TWO_HOURS - 60) * 1_000);
    await sweep.sweepOnce();
    const phases = () => Promise.all([seen, unseen, reserved].map(({ offer }) => sale.phase(offer)));
    expect(await phases()).toEqual(['payment_pending', 'payment_pending', 'reserved']);
    sale.clock.set(sale.clock.now() + 61_000);
    await sweep.sweepOnce();
    expect(await phases()).toEqual(['founder_review', 'payment_expired', 'reserved']);
    await sale.mineAt(sale.clock.now() / 1_000);
    expect((await sale.reconcile(reserved.offer, reserved.buyer)).phase).toBe('listed');
  });

  it('a fitting transfer without a claim is found by the last check', async () => {
    const one = await holdOffer();
    await claim(one, await payFor(one, 1n));
    await reorg(sale.chain, 1);
    await payFor(one);
    await pass(TWO_HOURS + 10);
    expect((await sale.reconcile(one.offer, one.buyer)).phase).toBe('founder_review');
  });
});

describe('a reorganisation', () => {
  it('that brings the transfer back in another block makes no difference', async () => {
    const one = await holdOffer();
    // Mine an empty block below the transfer, so that the reorg does not undo earlier state.
    await pass(1);
    const txHash = await payFor(one);
    const raw = await rawTransaction(sale.chain, txHash);
    await claim(one, txHash);
    await reorg(sale.chain, 2, [[raw, 1]]);
    await sale.finalize();
    expect((await claim(one, txHash)).status).toBe(200);
  });

  it('that takes it out of its window makes it invalid', async () => {
    const one = await holdOffer();
    const txHash = await payFor(one);
    const raw = await rawTransaction(sale.chain, txHash);
    await claim(one, txHash);
    await reorg(sale.chain, 1);
    await pass(300);
    await sale.chain.rpc.call('eth_sendRawTransaction', [raw]);
    await sale.finalize();
    await sale.finalize();
    expect(await reasonOf(claim(one, txHash))).toBe('world_payment_invalid');
  });
});

describe('claims', () => {
  it('five may be undecided; a sixth takes the place of the oldest that is in no block', async () => {
    const one = await holdOffer();
    const seen = await payFor(one);
    await claim(one, seen);
    for (const digit of ['1', '2', '3', '4', '5']) expect((await claim(one, hash(digit))).status).toBe(202);
    const rows = await sale.db.database.rows<{ tx_hash: Buffer }>(
      sql`select tx_hash from claims where reservation_id = ${one.reservation.id} order by named_at, tx_hash`,
    );
    const named = rows.map(({ tx_hash }) => `0x${tx_hash.toString('hex')}`);
    expect(named.toSorted()).toEqual([seen, hash('2'), hash('3'), hash('4'), hash('5')].toSorted());
    await sale.finalize();
    expect((await claim(one, hash('5'))).status).toBe(200);
  });

  it('where nothing can be read it is said so; what was named is looked at all the same', async () => {
    const one = await holdOffer();
    const txHash = await payFor(one);
    const seeing = { providers: sale.city.providers, providerHealth: sale.city.providerHealth };
    Object.assign(sale.city, blindCity());
    expect(await reasonOf(claim(one, txHash))).toBe('payment_preserved');
    expect(await reasonOf(sale.reserve(await sale.offer(), await sale.person()))).toBe('payment_check_unavailable');
    Object.assign(sale.city, seeing);
    await sale.finalize();
    await createSweep(sale.city, 1_000).sweepOnce();
    expect(await sale.phase(one.offer)).toBe('claimed');
  });

  it('a transfer by an authorization that a stranger submits is a transfer', async () => {
    const one = await holdOffer();
    const { wallet } = one.buyer;
    const authorization = {
      from: wallet.address,
      to: one.offer.seller.wallet.address,
      value: PRICE,
      validAfter: 0n,
      validBefore: 99_999_999_999n,
      nonce: hash('9'),
    };
    const data = settleData(authorization, await signAuthorization(sale.chain, wallet, authorization));
    const { transactionHash } = await send(sale.chain, (await sale.person()).wallet, { to: USDC_ADDRESS, data });
    await sale.finalize();
    expect((await claim(one, transactionHash)).status).toBe(200);
  });
});

describe('a wallet that is a contract', () => {
  it('signs by its word at the finalized block, and pays', async () => {
    const [offer, buyer] = [await sale.offer(), await sale.person()];
    const wallet = await createContractWallet(sale.chain, 10_000_000n);
    await wallet.deploy();
    await sale.finalize();
    const { challenge } = await sale.reserve(offer, buyer, { wallet: wallet.address });
    const txHash = await wallet.transfer({ to: offer.seller.wallet.address, units: PRICE });
    expect(await reasonOf(sale.claim(offer, buyer, txHash, challenge))).toBe('signature_invalid');
    expect((await sale.claim(offer, buyer, txHash, challenge, wallet.owner)).status).toBe(202);
    await sale.finalize();
    expect((await sale.claim(offer, buyer, txHash, challenge, wallet.owner)).body.offer).toMatchObject({
      phase: 'claimed',
      buyer: buyer.handle,
    });
  });

  it('without code signs nothing, and that is told from a chain that cannot be read', async () => {
    const [offer, buyer] = [await sale.offer(), await sale.person()];
    const wallet = await createContractWallet(sale.chain, 10_000_000n);
    const { challenge } = await sale.reserve(offer, buyer, { wallet: wallet.address });
    expect(await reasonOf(sale.claim(offer, buyer, hash('6'), challenge, wallet.owner))).toBe('signature_invalid');
    const seeing = { providers: sale.city.providers, providerHealth: sale.city.providerHealth };
    Object.assign(sale.city, blindCity());
    expect(await reasonOf(sale.claim(offer, buyer, hash('6'), challenge, wallet.owner))).toBe('payment_preserved');
    Object.assign(sale.city, seeing);
  });
});
