import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  listingSummary,
  officialAnswer,
  paymentRequiredAnswer,
  refusalAnswer,
  SELLER,
  TREASURY,
} from '../../../test/support/market-answers.ts';
import { createTestTime, createTestWallet, startScriptedMarket } from '../../../test/support/scripted-market.ts';
import { createClient } from '../../sdk/client.ts';
import { readPolicy } from '../policy.ts';
import { openSpendBook } from '../spend-book.ts';
import { listingFile } from './export-format.ts';
import { importStore } from './import-store.ts';
import type { Planned } from './plan-import.ts';

function toList(id: number): Planned {
  const about = { title: `Goods ${id}`, description: 'd', preview: '', price_usdc: 1, seller_wallet: SELLER };
  const body = { ...about, artifact: `goods ${id}`, artifact_encoding: 'utf-8' as const };
  const listing = { ...listingSummary(id), artifact_commitment: `0x${'00'.repeat(32)}` };
  const fee = { amount_usdc: 1, tx_hash: null, verified_via: 'x402' as const };
  const stored = { listing, fee, recoverySlip: null, bytes: new Uint8Array(1), body };
  return { act: 'list', stored: stored as Planned['stored'] };
}

test('a market that asks for more fees than were agreed to is paid what was agreed to, and no more', async () => {
  const home = await mkdtemp(join(tmpdir(), 'openaisle-import-'));
  let paid = 0;
  await using market = await startScriptedMarket(({ method, headers }) => {
    if (method !== 'POST') return officialAnswer();
    if (headers['payment-signature'] === undefined) return paymentRequiredAnswer({ payTo: TREASURY, units: '1000000' });
    paid += 1;
    return refusalAnswer('duplicate_listing');
  });
  try {
    const wallet = createTestWallet();
    const env = { HOME: home };
    const imported = importStore({
      plan: {
        planned: [toList(1), toList(2), toList(3)],
        ...{ feeUnits: 1_000_000n, mostUnits: 2_000_000n, sellerWallets: [SELLER], recoveredAt: null },
      },
      client: createClient({ baseUrl: market.baseUrl, key: 'k', environment: createTestTime() }),
      ...{ wallet, policy: await readPolicy(env), book: openSpendBook({ env, address: wallet.address }) },
    });
    await expect(imported).rejects.toMatchObject({ name: 'PolicyRefused', parts: { reason: 'above_agreed_fees' } });
    expect([wallet.signed, paid]).toEqual([2, 2]);
  } finally {
    await rm(home, { recursive: true, force: true });
  }
});

test('a file of an earlier version, which has neither license nor keywords, is read as one that says none', () => {
  const { license: _, keywords: __, ...listing } = listingSummary(7);
  const fee = { amount_usdc: 1, tx_hash: null, verified_via: 'x402' };
  const read = listingFile.parse({ version: 1, listing, goods: null, fee, recovery_slip: null });
  expect(read.listing).toMatchObject({ id: 7, license: null, keywords: [] });
});
