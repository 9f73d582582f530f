import sql from 'sql-template-tag';
import type { PaymentPurpose } from '../../../../contract/vocabulary.ts';
import type { Queryable, Tx } from '../../../../platform/database/database.ts';
import { type Hex, toBytes } from '../../../../platform/hex.ts';
import type { MarketConfig } from '../../../context.ts';
import type { Payment } from '../../payment.ts';
import { readPayments } from '../../store.ts';
import type { Proof } from '../../terms.ts';

export interface Attempt {
  purpose: PaymentPurpose;
  listingId: bigint | null;
  merchantId: bigint | null;
  bodyHash: Buffer | null;
  payee: Hex;
  valueUnits: bigint;
  proof: Pick<Proof, 'authorization'>;
  /** The highest block accepted as final when the nonce was read as unused. */
  openedBlock: bigint;
  deliveryTokenHash: Buffer | null;
}

export interface OpeningContext {
  config: Pick<MarketConfig, 'facilitatorUrl'> & { network: Pick<MarketConfig['network'], 'chainId' | 'usdc'> };
  clock: { now(): number };
}

/** Returns null if another row already has this unique authorization, payer, merchant or body. */
export async function openAttempt(
  { config, clock }: OpeningContext,
  tx: Tx,
  attempt: Attempt,
): Promise<Payment | null> {
  const { network, facilitatorUrl } = config;
  const { chainId } = network;
  const { from, nonce, validAfter, validBefore } = attempt.proof.authorization;
  const now = new Date(clock.now());
  const [made] = await readPayments(
    tx,
    (columns) => sql`
      insert into payments (purpose, path, status, listing_id, merchant_id, body_hash, chain_id, asset, payee, payer,
        value_units, nonce, valid_after, valid_before, opened_block, delivery_token_hash, signers_read_at, created_at, updated_at)
      values (${attempt.purpose}, 'x402', 'verifying', ${attempt.listingId}, ${attempt.merchantId}, ${attempt.bodyHash},
        ${chainId}, ${toBytes(network.usdc)}, ${toBytes(attempt.payee)}, ${toBytes(from)}, ${attempt.valueUnits},
        ${toBytes(nonce)}, ${validAfter}, ${validBefore}, ${attempt.openedBlock},
        ${attempt.deliveryTokenHash}, (select read_at from facilitator_readings where chain_id = ${chainId}
        and url = ${facilitatorUrl}), ${now}, ${now})
      on conflict do nothing
      returning ${columns}`,
  );
  return made ?? null;
}

export interface SignerReading {
  chainId: bigint;
  url: string;
  addresses: readonly Hex[];
  now: Date;
}

/** Stores a facilitator's answer. Keeps former signers, with the time at which they were last named. */
export async function storeSignerReading(tx: Tx, { chainId, url, addresses, now }: SignerReading): Promise<void> {
  await tx.run(
    sql`insert into facilitator_readings as reading (chain_id, url, read_at, published)
      values (${chainId}, ${url}, ${now}, ${addresses.length}::int)
      on conflict (chain_id, url) do update set read_at = excluded.read_at, published = excluded.published
      where reading.read_at <= excluded.read_at`,
  );
  for (const address of addresses) {
    await tx.run(
      sql`insert into facilitator_signers as signer (chain_id, address, first_seen_at, last_seen_at)
        values (${chainId}, ${toBytes(address)}, ${now}, ${now})
        on conflict (chain_id, address) do update set last_seen_at = greatest(signer.last_seen_at, excluded.last_seen_at)`,
    );
  }
}

/** `isNamed` is true if the facilitator named this address in its last answer before the payment was opened, or in any since. */
export async function findSigner(
  queryable: Queryable,
  { chainId, url, address, since }: { chainId: bigint; url: string; address: Hex; since: Date | null },
): Promise<{ isNamed: boolean; namesAny: boolean }> {
  const row = await queryable.one<{ named: boolean; names_any: boolean }>(
    sql`select exists (select from facilitator_readings where chain_id = ${chainId} and url = ${url} and published > 0) as names_any,
      exists (select from facilitator_signers where chain_id = ${chainId} and address = ${toBytes(address)}
        and last_seen_at >= coalesce(${since}::timestamptz, '-infinity')) as named`,
  );
  return { isNamed: row.named, namesAny: row.names_any };
}
