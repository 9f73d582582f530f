import sql from 'sql-template-tag';
import { afterAll, describe, expect, it } from 'vitest';
import { checksummed } from '../../src/contract/chain-values.ts';
import { testAccount, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { fund } from '../../src/local/chain/transactions.ts';
import type { Hex } from '../../src/platform/hex.ts';
import {
  claim,
  createWorldTime,
  openIntent,
  payDirectly,
  type ShownIntent,
  secondOf,
  signChallenge,
  statusBy,
  transfer,
} from '../support/direct.ts';
import { BASE_URL } from '../support/market-world.ts';
import { startRpcProxy } from '../support/rpc-proxy.ts';
import { GAS_WEI, PRICE, testTrade } from '../support/trade.ts';
import { compacted, withShortV } from '../support/wallets/signature-spellings.ts';
import { createContractWallet } from './contract-wallet.ts';

const time = createWorldTime();
const wire = await startRpcProxy();
// Registered first, because hooks registered last run first.
afterAll(() => wire.close());
const trade = testTrade({ clock: time.clock, rpcUrl: wire.at });
const { world, buyer } = trade;
const { stranger, sellerOne } = WORLD_ACCOUNTS;
const CURVE_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

const invalid = { status: 422, body: { reason: 'signature_invalid', do_not_pay_again: true } };

async function count(table: 'payments' | 'claim_hashes' | 'purchases'): Promise<bigint> {
  const tables = { payments: sql`payments`, claim_hashes: sql`claim_hashes`, purchases: sql`purchases` };
  const row = await world.db.database.one<{ rows: bigint }>(sql`select count(*) as rows from ${tables[table]}`);
  return row.rows;
}

/** Pays and finalizes without claiming. */
async function paidAndFinal(named: boolean) {
  const { id, artifact } = await trade.goods();
  const payer = await trade.wallet(PRICE, GAS_WEI);
  const intent = await openIntent(world, buyer, id, named ? { payer_wallet: payer.address } : {});
  const signature = await signChallenge(payer, intent);
  const txHash = await transfer(world, payer, intent.seller_wallet, PRICE);
  await world.finalize();
  return { id, artifact, payer, intent, signature, txHash };
}

/** Sets the creation time of a listing, because seeded listings are older than every intent. */
async function setCreated(listingId: bigint, createdAt: Date): Promise<void> {
  await world.db.database.run(sql`alter table listings disable trigger listing_terms_are_fixed`);
  await world.db.database.run(sql`update listings set created_at = ${createdAt} where id = ${listingId}`);
  await world.db.database.run(sql`alter table listings enable trigger listing_terms_are_fixed`);
}

/** Altered forms of a signature. None of them counts as the payer's signature. */
const SPELLINGS: readonly [string, (signature: string) => string][] = [
  ['its twin with the high s', (given) => withS(given, flipped)],
  ['its high s with the old v', (given) => `${withS(given, flipped).slice(0, 130)}${given.slice(130)}`],
  ['a v of 2 or 3', (given) => `${given.slice(0, 130)}0${given.endsWith('1b') ? 2 : 3}`],
  ['the other v', (given) => `${given.slice(0, 130)}${given.endsWith('1b') ? '1c' : '1b'}`],
  ['v of the chain', (given) => `${given.slice(0, 130)}ff`],
  [
    '64 bytes with the other parity',
    (given) => compacted(given.endsWith('1b') ? asHex(given, '1c') : asHex(given, '1b')),
  ],
  ['63 bytes', (given) => given.slice(0, 128)],
  ['66 bytes', (given) => `${given}00`],
  ['r of zero', (given) => `0x${'0'.repeat(64)}${given.slice(66)}`],
  ['s of zero', (given) => `${given.slice(0, 66)}${'0'.repeat(64)}${given.slice(130)}`],
  ['r beyond the order', (given) => `0x${'f'.repeat(64)}${given.slice(66)}`],
  ['one byte', () => '0x00'],
];

function flipped(v: string): string {
  return v === '1b' ? '1c' : '1b';
}

function withS(signature: string, v: (old: string) => string): string {
  const s = (CURVE_ORDER - BigInt(`0x${signature.slice(66, 130)}`)).toString(16).padStart(64, '0');
  return `${signature.slice(0, 66)}${s}${v(signature.slice(130))}`;
}

function asHex(signature: string, v: string): Hex {
  return `0x${signature.slice(2, 130)}${v}`;
}

describe('a signature by the key of the payer', () => {
  it('counts in no other spelling, and what is refused stores nothing', async () => {
    const paid = await paidAndFinal(true);
    const before = [await count('payments'), await count('claim_hashes')];
    for (const [what, spell] of SPELLINGS) {
      const answer = await claim(world, buyer, paid.id, { ...paid, signature: spell(paid.signature) });
      expect(answer, what).toMatchObject(invalid);
    }
    expect([await count('payments'), await count('claim_hashes')]).toEqual(before);
    // Upper and lower case hex digits are the same bytes.
    const upper = `0x${paid.signature.slice(2).toUpperCase()}`;
    expect(await claim(world, buyer, paid.id, { ...paid, signature: upper })).toMatchObject({
      status: 200,
      body: { artifact: paid.artifact },
    });
    // Requests with the buyer's key get the same delivery and store no second purchase.
    const purchases = await count('purchases');
    for (const [what, spell] of SPELLINGS) {
      const answer = await claim(world, buyer, paid.id, { ...paid, signature: spell(paid.signature) });
      expect(answer.status, what).toBe(200);
    }
    expect(await count('purchases')).toBe(purchases);
  });

  it.each<[string, (signature: Hex) => Hex]>([
    ['a v of 0 or 1', withShortV],
    ['64 bytes (EIP-2098)', compacted],
  ])('counts with %s as well, whether the intent names the wallet or not', async (_, spell) => {
    for (const named of [true, false]) {
      const paid = await paidAndFinal(named);
      expect(await claim(world, buyer, paid.id, { ...paid, signature: spell(paid.signature) })).toMatchObject({
        status: 200,
        body: { artifact: paid.artifact },
      });
    }
  });

  it('in another spelling is no other wallet where the intent names none', async () => {
    const paid = await paidAndFinal(false);
    for (const [what, spell] of SPELLINGS) {
      const answer = await claim(world, buyer, paid.id, { ...paid, signature: spell(paid.signature) });
      // The other v recovers to an address that signed nothing and has not paid.
      const isOther = what === 'the other v' || what === '64 bytes with the other parity';
      const reason = isOther ? 'wrong_payer' : 'signature_invalid';
      if (what === 'its high s with the old v') expect(answer.body['reason'], what).toBe('signature_invalid');
      expect(answer, what).toMatchObject({ status: 422, body: { reason, do_not_pay_again: true } });
      expect(JSON.stringify(answer.body)).not.toContain(paid.artifact);
    }
    expect(await claim(world, buyer, paid.id, paid)).toMatchObject({ status: 200 });
  });

  it('is bound to every line of the challenge', async () => {
    const paid = await paidAndFinal(true);
    const { challenge } = paid.intent;
    const lines = challenge.split('\n');
    expect(lines).toHaveLength(14);
    const others = lines.map((line, at) => {
      const [name, ...value] = line.split(': ');
      const other = value.join(': ').replace(/[0-9a-zA-Z]/, (digit) => (digit === '7' ? '8' : '7'));
      return lines.with(at, `${name}: ${other}`).join('\n');
    });
    const changes = [
      ...others,
      challenge.replace('chain_id: 8453', 'chain_id: 84532'),
      challenge.replace(BASE_URL, 'https://market.example'),
      challenge.replace(`buyer: ${buyer.handle}`, 'buyer: seller-one'),
      `${challenge}\n`,
      challenge.replaceAll('\n', '\r\n'),
      lines.toReversed().join('\n'),
      '',
    ];
    for (const text of changes) {
      expect(text).not.toBe(challenge);
      const signature = await signChallenge(paid.payer, { challenge: text });
      expect(await claim(world, buyer, paid.id, { ...paid, signature }), text).toMatchObject(invalid);
    }
    expect(await claim(world, buyer, paid.id, paid)).toMatchObject({ status: 200 });
  });

  it("of another intent, or of another buyer's intent for the same goods, does not count", async () => {
    const paid = await paidAndFinal(true);
    const other = await world.join('buyer-with-intent');
    const { id: elsewhere } = await trade.goods();
    const named = { payer_wallet: paid.payer.address };
    for (const intent of [
      await openIntent(world, other, paid.id, named),
      await openIntent(world, buyer, elsewhere, named),
    ]) {
      const signature = await signChallenge(paid.payer, intent);
      expect(await claim(world, buyer, paid.id, { ...paid, signature })).toMatchObject(invalid);
    }
  });

  it('by another key than that of the named wallet is pending while the transfer is not final, then refused', async () => {
    const { id } = await trade.goods();
    const payer = await trade.wallet(PRICE, GAS_WEI);
    const intent = await openIntent(world, buyer, id, { payer_wallet: payer.address });
    const txHash = await transfer(world, payer, intent.seller_wallet, PRICE);
    const before = await count('payments');
    const claiming = { intent, txHash, signature: await signChallenge(stranger, intent) };
    expect(await claim(world, buyer, id, claiming)).toMatchObject({
      status: 202,
      body: { do_not_pay_again: true, payment: { payment_status: 'unsubmitted', do_not_pay_again: true } },
    });
    await world.finalize();
    expect(await claim(world, buyer, id, claiming)).toMatchObject(invalid);
    expect(await count('payments')).toBe(before);
  });
});

describe('a contract wallet', () => {
  it('that the intent names is asked (EIP-1271), and buys', async () => {
    const { id, artifact } = await trade.goods();
    const wallet = await createContractWallet(world.chain, PRICE);
    await wallet.deploy();
    await world.finalize();
    const intent = await openIntent(world, buyer, id, { payer_wallet: wallet.address });
    const txHash = await wallet.transfer({ to: intent.seller_wallet, units: PRICE });
    const foreign = await signChallenge(stranger, intent);
    expect(await claim(world, buyer, id, { intent, txHash, signature: foreign })).toMatchObject(invalid);
    const signature = await signChallenge(wallet.owner, intent);
    expect((await claim(world, buyer, id, { intent, txHash, signature })).status).toBe(202);
    await world.finalize();
    expect(await claim(world, buyer, id, { intent, txHash, signature })).toMatchObject({
      status: 200,
      body: { artifact, receipt: { payer: intent.payer_wallet } },
    });
  });

  it('is asked as it is in the finalized block: one that is not deployed there yet is pending, and accepted afterwards', async () => {
    const { id, artifact } = await trade.goods();
    const wallet = await createContractWallet(world.chain, PRICE);
    const intent = await openIntent(world, buyer, id, { payer_wallet: wallet.address });
    const signature = await signChallenge(wallet.owner, intent);
    const txHash = await wallet.transferUndeployed(intent.seller_wallet, PRICE);
    const pending = { status: 202, body: { do_not_pay_again: true, retry: 'same_request' } };
    expect(await claim(world, buyer, id, { intent, txHash, signature })).toMatchObject(pending);
    await wallet.deploy();
    expect(await claim(world, buyer, id, { intent, txHash, signature })).toMatchObject(pending);
    await world.finalize();
    expect(await claim(world, buyer, id, { intent, txHash, signature })).toMatchObject({
      status: 200,
      body: { artifact },
    });
  });

  it('that is none when its transfer is final did not sign; deployed later, it is believed all the same', async () => {
    const { id } = await trade.goods();
    const wallet = await createContractWallet(world.chain, PRICE);
    const intent = await openIntent(world, buyer, id, { payer_wallet: wallet.address });
    const signature = await signChallenge(wallet.owner, intent);
    const txHash = await wallet.transferUndeployed(intent.seller_wallet, PRICE);
    await world.finalize();
    expect(await claim(world, buyer, id, { intent, txHash, signature })).toMatchObject(invalid);
    await wallet.deploy();
    await world.finalize();
    expect((await claim(world, buyer, id, { intent, txHash, signature })).status).toBe(200);
  });

  it('that becomes final with its transfer, between two readings of one claim, is asked again', async () => {
    const { id, artifact } = await trade.goods();
    const wallet = await createContractWallet(world.chain, PRICE);
    const intent = await openIntent(world, buyer, id, { payer_wallet: wallet.address });
    const signature = await signChallenge(wallet.owner, intent);
    const txHash = await wallet.transferUndeployed(intent.seller_wallet, PRICE);
    await wallet.deploy();
    // The claim reads the head, finds no code, and reads the head again. By then everything is final.
    const first = wire.holdNext('"finalized",false');
    const answer = claim(world, buyer, id, { intent, txHash, signature });
    await first.held;
    const second = wire.holdNext('"finalized",false');
    first.release();
    await second.held;
    await world.finalize();
    second.release();
    expect(await answer).toMatchObject({ status: 200, body: { artifact } });
  });

  it('that never comes, for a transaction that never comes: not found once the window is final', async () => {
    const { id } = await trade.goods();
    const wallet = await createContractWallet(world.chain, PRICE);
    const intent = await openIntent(world, buyer, id, { payer_wallet: wallet.address });
    const claiming = { intent, txHash: `0x${'3'.repeat(64)}`, signature: await signChallenge(wallet.owner, intent) };
    expect((await claim(world, buyer, id, claiming)).status).toBe(202);
    await time.moveTo(world, secondOf(intent.expires_at));
    expect((await claim(world, buyer, id, claiming)).status).toBe(202);
    await world.finalize();
    expect(await claim(world, buyer, id, claiming)).toMatchObject({
      status: 422,
      body: { reason: 'transfer_not_found' },
    });
  });

  it('that was not named says yes to its own signature, and nobody else can claim what it sent', async () => {
    const { id, artifact } = await trade.goods();
    const wallet = await createContractWallet(world.chain, PRICE);
    await wallet.deploy();
    const intent = await openIntent(world, buyer, id);
    const txHash = await wallet.transfer({ to: intent.seller_wallet, units: PRICE });
    await world.finalize();
    const foreign = await signChallenge(stranger, intent);
    expect(await claim(world, buyer, id, { intent, txHash, signature: foreign })).toMatchObject({
      status: 422,
      body: { reason: 'wrong_payer', do_not_pay_again: true },
    });
    const long = await claim(world, buyer, id, { intent, txHash, signature: `${foreign}00` });
    expect(long).toMatchObject(invalid);
    expect(long.body['detail']).toContain('named when the intent is opened');
    const signature = await signChallenge(wallet.owner, intent);
    expect(await claim(world, buyer, id, { intent, txHash, signature })).toMatchObject({
      status: 200,
      body: { artifact, receipt: { payer: checksummed(wallet.address) } },
    });
  });

  it.each<[string, string]>([
    ['says nothing', '0x00'],
    ['burns all gas', '0x5b600056'],
    ['reverts', '0x60006000fd'],
    ['says yes with other bytes behind', `0x7f1626ba7e${'0'.repeat(55)}160005260206000f3`],
  ])('that %s did not sign', async (_what, code) => {
    const { id } = await trade.goods();
    const wallet = testAccount(`odd wallet ${code}`);
    await world.chain.rpc.call('anvil_setCode', [wallet.address, code]);
    await world.finalize();
    const intent = await openIntent(world, buyer, id, { payer_wallet: wallet.address });
    const signature = await signChallenge(stranger, intent);
    const answer = await claim(world, buyer, id, { intent, txHash: `0x${'4'.repeat(64)}`, signature });
    expect(answer).toMatchObject(invalid);
  });

  it('cannot be asked while the chain is unreadable: 503, and nothing is lost', async () => {
    const { id } = await trade.goods();
    const wallet = await createContractWallet(world.chain, PRICE);
    await wallet.deploy();
    await world.finalize();
    const intent = await openIntent(world, buyer, id, { payer_wallet: wallet.address });
    const txHash = await wallet.transfer({ to: intent.seller_wallet, units: PRICE });
    await world.finalize();
    const signature = await signChallenge(wallet.owner, intent);
    wire.silence(true);
    const unreadable = await claim(world, buyer, id, { intent, txHash, signature });
    wire.silence(false);
    expect(unreadable).toMatchObject({
      status: 503,
      body: { reason: 'payment_preserved', do_not_pay_again: true, retry: 'same_request' },
    });
    expect((await claim(world, buyer, id, { intent, txHash, signature })).status).toBe(200);
  });
});

describe('own goods', () => {
  it('a wallet of the seller that signs an intent without a name buys nothing', async () => {
    const { id } = await trade.goods();
    await fund(world.chain, [{ address: sellerOne.address, usdcUnits: PRICE, wei: GAS_WEI }]);
    const paid = await payDirectly(world, { buyer, listingId: id, payer: sellerOne, units: PRICE });
    await world.finalize();
    expect(await claim(world, buyer, id, paid)).toMatchObject({ status: 403, body: { reason: 'own_goods' } });
    expect(await statusBy(world, { intent_id: paid.intent.id })).toMatchObject({ payment_status: 'unsubmitted' });
  });

  it('a wallet that the seller listed in the second of the intent is its own: an intent names whole seconds', async () => {
    const { id } = await trade.goods();
    const payer = await trade.wallet(PRICE, GAS_WEI);
    const intent = await openIntent(world, buyer, id, {});
    const other = await trade.goods({ payTo: payer.address });
    await setCreated(other.id, new Date(Date.parse(intent.created_at) + 999));
    const txHash = await transfer(world, payer, intent.seller_wallet, PRICE);
    await world.finalize();
    const signature = await signChallenge(payer, intent);
    expect(await claim(world, buyer, id, { intent, txHash, signature })).toMatchObject({
      status: 403,
      body: { reason: 'own_goods' },
    });
  });

  it.each([true, false])(
    'a seller who lists the wallet of a buyer as its own after the intent keeps nothing back by it (named: %s)',
    async (named) => {
      const { id, artifact } = await trade.goods();
      const payer = await trade.wallet(PRICE, GAS_WEI);
      const intent: ShownIntent = await openIntent(world, buyer, id, named ? { payer_wallet: payer.address } : {});
      const txHash = await transfer(world, payer, intent.seller_wallet, PRICE);
      const other = await trade.goods({ payTo: payer.address });
      await setCreated(other.id, new Date(Date.parse(intent.created_at) + 1_000));
      await world.finalize();
      const signature = await signChallenge(payer, intent);
      expect(await claim(world, buyer, id, { intent, txHash, signature })).toMatchObject({
        status: 200,
        body: { artifact },
      });
    },
  );
});

it('a signature is stored nowhere and not logged', async () => {
  const paid = await paidAndFinal(true);
  const bad = `${paid.signature.slice(0, 130)}00`;
  await claim(world, buyer, paid.id, { ...paid, signature: bad });
  expect((await claim(world, buyer, paid.id, paid)).status).toBe(200);
  const rows = await world.db.database.rows(sql`
    select p::text || coalesce(i::text, '') || coalesce(h::text, '') as text from payments p
    left join payment_intents i on i.id = p.intent_id left join claim_hashes h on h.payment_id = p.id`);
  const core = paid.signature.slice(2, 66);
  expect(JSON.stringify(rows)).not.toContain(core);
  expect(JSON.stringify(world.logLines, (_, value) => (typeof value === 'bigint' ? `${value}` : value))).not.toContain(
    core,
  );
});
