import { beforeAll, expect, it } from 'vitest';
import { ask, reasonOf } from '../../../test/support/ask.ts';
import { testDatabase } from '../../../test/support/database.ts';
import { marketContext } from '../../../test/support/market-context.ts';
import {
  removeListing,
  type SeededMerchant,
  seedFee,
  seedListing,
  seedMerchant,
  seedPaidPurchase,
  withdrawListing,
} from '../../../test/support/seed.ts';
import { endpoints } from '../../contract/index.ts';
import { sha256 } from '../../platform/canonical-json.ts';
import { toBytes } from '../../platform/hex.ts';
import { readSlip } from '../payments/recovery-slip.ts';
import { getOwnListing } from './get-own-listing.ts';

const db = testDatabase();
const market = () => marketContext({ database: db.database });
const ownOf = (caller: SeededMerchant, id: bigint) =>
  ask(market(), endpoints.getOwnListing, getOwnListing, { params: { id: String(id) }, caller });

let maintainer: SeededMerchant;
let seller: SeededMerchant;
let other: SeededMerchant;

beforeAll(async () => {
  maintainer = await seedMerchant(db.database);
  seller = await seedMerchant(db.database);
  other = await seedMerchant(db.database);
});

it('its merchant reads goods and salt, byte for byte, and they are what the listing promised', async () => {
  for (const artifact of ['\u{feff}first line\r\nüñí', Buffer.from([0, 255, 10, 13, 200])]) {
    const { id } = await seedListing(db.database, seller.id, { artifact });
    const own = await ownOf(seller, id);
    const content = Buffer.from(own.artifact ?? '', own.artifact_encoding === 'base64' ? 'base64' : 'utf8');
    expect(content).toEqual(Buffer.from(artifact));
    const commitment = sha256(toBytes(own.artifact_salt as `0x${string}`), content).toString('hex');
    expect(own.listing).toMatchObject({ id: Number(id), artifact_commitment: `0x${commitment}` });
    expect(own.fee).toEqual({ amount_usdc: 0, tx_hash: null, verified_via: 'free' });
    expect(own.recovery_slip).toBeUndefined();
  }
});

it('what was paid for it comes along, with the slip that brings the fee back after a loss', async () => {
  const fee = await seedFee(db.database, seller.id);
  const { id } = await seedListing(db.database, seller.id, { feeId: fee });
  const own = await ownOf(seller, id);
  expect(own.fee).toMatchObject({ tx_hash: expect.stringMatching(/^0x[0-9a-f]{64}$/), verified_via: 'x402' });
  expect(readSlip(market(), own.recovery_slip ?? '')).toMatchObject({
    ...{ kind: 'payment', purpose: 'listing_fee', merchantId: seller.id },
  });
});

it('withdrawn and removed ones stay readable for it', async () => {
  for (const end of [withdrawListing, removeListing]) {
    const { id } = await seedListing(db.database, seller.id, { artifact: 'kept by its seller' });
    await end(db.database, id);
    expect(await ownOf(seller, id)).toMatchObject({ artifact: 'kept by its seller' });
  }
});

it('another merchant, who bought them too, and the maintainer are told that there is none', async () => {
  const { id } = await seedListing(db.database, seller.id);
  await seedPaidPurchase(db.database, id, { merchantId: other.id });
  for (const caller of [other, maintainer]) expect(await reasonOf(ownOf(caller, id))).toBe('not_found');
  expect(await reasonOf(ownOf(seller, id + 999n))).toBe('not_found');
});
