import { bytesToHex } from 'viem';
import { z } from 'zod';
import { collectNonce } from '../../contract/collect-text.ts';
import { NETWORKS } from '../../contract/vocabulary.ts';
import type { BuyingClient } from '../client.ts';
import { MarketError } from '../errors.ts';
import { type NamedMarket, nameToSignFor } from './market-name.ts';
import { encodeProof, type PaymentProof, signAuthorization, type Wallet } from './payment-proof.ts';
import type { ExpectedPayment, X402Version } from './payment-required.ts';
import { signingTime } from './signing-clock.ts';

/** A signature over value 0 with the salt of its nonce. */
export interface CollectProof extends PaymentProof {
  salt: `0x${string}`;
}

export interface Collecting {
  client: BuyingClient;
  wallet: Wallet;
  listingId: number;
  expected: ExpectedPayment;
  /** The market's 402 to a request that only collects. */
  refusal: unknown;
  x402Version?: X402Version | undefined;
}

const WINDOW_SECONDS = 120;

/**
 * Signs an authorization of value 0 whose nonce commits to goods and market. It identifies the wallet and moves no money, even if
 * submitted.
 */
export async function signCollecting(collecting: Collecting): Promise<CollectProof> {
  const { client, wallet, listingId, refusal } = collecting;
  if (!(refusal instanceof MarketError)) throw refusal;
  const expected = { ...collecting.expected, amountUnits: 0n };
  const network = NETWORKS[expected.network];
  const salt = bytesToHex(client.environment.randomBytes(32));
  const baseUrl = marketAddress(client, refusal.body());
  const nonce = collectNonce({
    ...{ baseUrl, chainId: network.chainId, listingId: BigInt(listingId), payer: wallet.address, salt },
  });
  const x402Version = collecting.x402Version ?? (refusal.header('payment-required') === null ? 1 : 2);
  const terms = { x402Version, windowSeconds: WINDOW_SECONDS, nonce };
  const nowMs = signingTime(client);
  const signed = await signAuthorization(wallet, expected, terms, { ...client.environment, now: () => nowMs });
  const shared = {
    scheme: 'exact',
    network: x402Version === 1 ? network.name : network.caip2,
    asset: network.usdc,
    payTo: expected.payee,
    maxTimeoutSeconds: WINDOW_SECONDS,
    extra: { name: network.domainName, version: network.domainVersion },
  };
  const offer = { ...shared, amountUnits: 0n, raw: { ...shared, amount: '0' } };
  return {
    header: encodeProof({ x402Version, offers: [] }, offer, signed),
    payer: signed.authorization.from,
    nonce,
    valid_before: Number(signed.authorization.validBefore),
    salt,
  };
}

const collectTerms = z.object({ collect: z.object({ base_url: z.string() }) });

/** Returns the market's address to sign for. Falls back to `callsItself`, then to `baseUrl`, if the answer names none. */
function marketAddress(client: NamedMarket, body: unknown): string {
  const read = collectTerms.safeParse(body);
  if (!read.success) return client.callsItself ?? client.baseUrl;
  return nameToSignFor(client, read.data.collect.base_url);
}
