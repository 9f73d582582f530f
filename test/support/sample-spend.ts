import type { SpendPlan } from '../../src/agent/spend-record.ts';
import { systemEnvironment } from '../../src/sdk/environment.ts';
import { encodeProof, signAuthorization, type Wallet } from '../../src/sdk/payments/payment-proof.ts';
import type { SavedPayment } from '../../src/sdk/payments/proof-store.ts';

const PAYEE = `0x${'cd'.repeat(20)}` as const;
const PAYER = `0x${'ab'.repeat(20)}` as const;

/** Returns a planned purchase to reserve money for. */
export function samplePlan(changed: Partial<SpendPlan> = {}): SpendPlan {
  return {
    key: 'k',
    market: 'https://market.example',
    kind: 'purchase',
    listing_id: 7,
    title: 't',
    seller: 's',
    payee: PAYEE,
    network: 'base',
    out_dir: null,
    listing: null,
    amountUnits: 1_000_000n,
    ...changed,
  };
}

/** Returns the record that the SDK saves after signing for that amount. */
export function sampleProof(units: bigint): SavedPayment {
  return {
    version: 1,
    purpose: 'purchase',
    payee: PAYEE,
    amount_units: units.toString(),
    network: 'base',
    artifact_commitment: null,
    delivery_token: null,
    proof: { header: { name: 'X-PAYMENT', value: 'x' }, payer: PAYER, nonce: '0x1', valid_before: 9 },
  };
}

/** Like `sampleProof`, but signed by a wallet for that payee. */
export async function signedPayment(wallet: Wallet, payee: `0x${string}`, units: bigint): Promise<SavedPayment> {
  const expected = { payee, amountUnits: units, network: 'base' } as const;
  const terms = { x402Version: 1, windowSeconds: 120 } as const;
  const signed = await signAuthorization(wallet, expected, terms, systemEnvironment);
  const { from: payer, nonce, validBefore } = signed.authorization;
  const shared = { scheme: 'exact', network: 'base', asset: payee, payTo: payee, maxTimeoutSeconds: 120 };
  const header = encodeProof(
    { x402Version: 1, offers: [] },
    { ...shared, amountUnits: units, extra: {}, raw: {} },
    signed,
  );
  return { ...sampleProof(units), payee, proof: { header, payer, nonce, valid_before: Number(validBefore) } };
}
