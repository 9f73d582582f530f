import { type Edit, type Sabotage, world } from '../sabotage.ts';

const DECIDE_SALE = 'src/market/world/sync/decide-sale.ts';
const RECORD = 'src/market/world/sync/sync-world.ts';
const THING = 'src/market/world/drafts/list-world.ts';
const HELD = 'src/market/world/drafts/list-world.ts';
const DRAFTS = 'src/market/world/drafts/store.ts';
const CITY_CLAIM = 'src/city/payments/decide-claim.ts';
const CITY_MOVE = 'src/city/offers/advance-offer.ts';
const OFFERS_SQL = 'migrations/city/0003-offers.sql';
/** Disables the trigger that enforces the same rule a second time. */
const UNPROVEN: Edit = {
  file: OFFERS_SQL,
  find: "if new.phase = 'claimed' and old.phase <> 'claimed' and not exists (",
  put: 'if false and not exists (',
};
const FEES = [...world('thing-fee', 'world-listing')];

function bug(name: string, file: string, find: string, put: string, tests: readonly string[]): Sabotage {
  return { name, edits: [{ file, find, put }], tests };
}

function saleVerdict(name: string, find: string, put: string): Sabotage {
  return bug(name, DECIDE_SALE, find, put, ['src/market/world/sync/decide-sale.test.ts']);
}

function cityVerdict(name: string, find: string, put: string): Sabotage {
  return bug(name, CITY_CLAIM, find, put, ['src/city/payments/decide-claim.test.ts']);
}

/** Bugs in the fee of a thing, and in the wallet and draft reserved for it. */
const HOLDING: readonly Sabotage[] = [
  bug(
    'thing-wallet-not-held',
    THING,
    '  await reserveWallet(tx, draft.sellerWallet);\n  await keepDraftForFee(',
    '  await keepDraftForFee(',
    FEES,
  ),
  bug(
    'draft-not-held-for-its-fee',
    THING,
    '  await keepDraftForFee(tx, draft.id, { paymentId: payment.id, offerId: request.offerId });\n',
    '',
    FEES,
  ),
  bug('draft-not-locked', DRAFTS, 'id} for update of d', 'id}', world('world-listing')),
  bug('unpaid-thing-keeps-wallet', HELD, '      await releaseWallet(tx, draft.sellerWallet);\n', '', FEES),
  bug('unpaid-thing-keeps-draft', HELD, 'await reopenDraft(tx, draftId);', '{}', FEES),
  bug(
    'shared-wallet-freed',
    DRAFTS,
    'not exists (select from world_drafts where',
    'not exists (select from world_drafts where false and',
    world('world-listing'),
  ),
  bug(
    'wallet-freed-under-a-holder',
    DRAFTS,
    'export async function reserveWallet(tx: Tx, wallet: Hex): Promise<void> {\n  await tx.lock(walletLock(wallet));\n',
    'export async function reserveWallet(tx: Tx, wallet: Hex): Promise<void> {\n',
    ['src/market/world/drafts/hold-wallet.test.ts'],
  ),
  bug(
    'wallet-of-goods-drafted',
    'src/market/listings/check-goods.ts',
    "if (used !== null && used !== kind) throw new Refusal('wallet_in_use');",
    "if (used === 'world' && kind === 'ordinary') throw new Refusal('wallet_in_use');",
    ['src/market/world/drafts/drafts.test.ts'],
  ),
  bug(
    'thing-listed-at-another-price',
    'src/market/world/city.ts',
    'unitsOfUsdc(offer.price_usdc) === expected.priceUnits',
    'unitsOfUsdc(offer.price_usdc) <= expected.priceUnits',
    ['src/market/world/compare-offer.test.ts', ...world('world-listing')],
  ),
  bug(
    'draft-over-under-its-fee',
    'src/market/world/drafts/get-world-draft.ts',
    "return state === 'pending' && nowMs",
    "return state !== 'listed' && nowMs",
    ['src/market/world/drafts/drafts.test.ts'],
  ),
];

/** Bugs in sales as the market judges them. */
const SALES: readonly Sabotage[] = [
  saleVerdict(
    'sale-window-end-inclusive',
    'block.timestamp >= terms.windowTo) return review',
    'block.timestamp > terms.windowTo) return review',
  ),
  saleVerdict(
    'sale-before-the-reservation',
    'if (block.timestamp < terms.windowFrom || ',
    'if (block.timestamp + 1n < terms.windowFrom || ',
  ),
  saleVerdict(
    'sale-for-less',
    'const enough = own.find(({ value }) => value >= terms.minimumUnits);',
    'const enough = own.find(({ value }) => value > 0n);',
  ),
  saleVerdict(
    'sale-by-any-payer',
    'const own = received.filter(({ from }) => from === terms.payer);',
    'const own = received;',
  ),
  saleVerdict('sale-to-any-payee', 'return transfer?.to === payee ? transfer : null;', 'return transfer;'),
  saleVerdict('sale-not-final', "  if (receipt.blockNumber > finalized.number) return unknown('not_final');\n", ''),
  saleVerdict(
    'sale-in-another-block',
    "if (!isInBlock(receipt, block)) return unknown('not_canonical');",
    "if (block === null) return unknown('not_canonical');",
  ),
  saleVerdict('sale-by-a-payment-of-the-ledger', "  if (evidence.isOfLedger) return review('transaction_used');\n", ''),
  bug(
    'one-transfer-sells-two-things',
    RECORD,
    "  if (!(await insertCityProof(tx, listingId, transfer, now))) return await review('transaction_used');\n",
    '  await insertCityProof(tx, listingId, transfer, now);\n',
    world('world-sale'),
  ),
  bug('thing-sold-without-lock', 'src/market/world/sync/store.ts', 'id} for update', 'id}', world('world-sale')),
  bug(
    'sale-not-shown-to-others',
    'src/market/world/sync/sync-world.ts',
    '(await chain.corroborate(head, subject, evidence)) && ',
    '',
    world('world-sale'),
  ),
];

/** Bugs in sales as the city judges them, and in the owner after a sale. */
const CITY: readonly Sabotage[] = [
  cityVerdict('claim-window-end-inclusive', 'block.timestamp < terms.windowTo;', 'block.timestamp <= terms.windowTo;'),
  cityVerdict(
    'claim-not-final',
    "  if (receipt.blockNumber > finalized.number) return unknown('not_final', verdict);\n",
    '',
  ),
  cityVerdict('claim-by-any-payer', 'from === terms.payer && to === terms.payee', 'to === terms.payee'),
  cityVerdict(
    'claim-for-less',
    'const enough = own.find(({ value }) => value >= terms.minimumUnits);',
    'const enough = own[0];',
  ),
  bug(
    'paid-reservation-lapses',
    'src/city/offers/advance-offer.ts',
    "  if (window.transfer !== null) return { act: 'await_payment', seen: window.transfer };\n",
    '',
    ['src/city/offers/choose-move.test.ts'],
  ),
  bug(
    'unread-reservation-lapses',
    'src/city/offers/advance-offer.ts',
    "  if (typeof window === 'string') return { act: null, seen: null };\n  if (window.transfer",
    "  if (typeof window !== 'string' && window.transfer",
    ['src/city/offers/choose-move.test.ts'],
  ),
  {
    name: 'held-offer-reserved-again',
    edits: [
      {
        file: 'src/city/offers/reserve-offer.ts',
        find: "if (offer.phase === 'reserved' || offer.phase === 'payment_pending') {",
        put: "if (offer.phase === 'payment_pending') {",
      },
      {
        file: 'src/city/offers/offer-steps.ts',
        find: "reserve: { listed: 'reserved' }",
        put: "reserve: { listed: 'reserved', reserved: 'reserved' }",
      },
      {
        file: OFFERS_SQL,
        find: 'if new.reservation_id is distinct from old.reservation_id and not (',
        put: 'if false and not (',
      },
    ],
    tests: world('city-offers'),
  },
  {
    name: 'thing-stays-with-its-seller',
    edits: [
      {
        file: CITY_MOVE,
        find: '  await moveThing(tx, { thingId: offer.thingId, to: reservation.residentId, at: now, offerId: offer.id });\n',
        put: '',
      },
      UNPROVEN,
    ],
    tests: world('city-sale'),
  },
  {
    name: 'thing-moved-without-proof',
    edits: [
      {
        file: CITY_MOVE,
        find: 'else if (await insertProof(tx, reservation, decision.transfer, now)) {',
        put: 'else if (decision.transfer !== null) {',
      },
      UNPROVEN,
    ],
    tests: world('city-sale'),
  },
];

export const WORLD: readonly Sabotage[] = [...HOLDING, ...SALES, ...CITY];
