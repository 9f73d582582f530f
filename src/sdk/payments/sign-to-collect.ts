import { bytesToHex } from 'viem';
import { z } from 'zod';
import { collectNonce } from '../../contract/collect-text.ts';
import { NETWORKS } from '../../contract/vocabulary.ts';
import type { Client } from '../client.ts';
import { MarketError } from '../errors.ts';
import { type NamedMarket, nameToSignFor } from './market-name.ts';
import { encodeProof, type PaymentProof, signAuthorization, type Wallet } from './payment-proof.ts';
import type { ExpectedPayment, X402Version } from './payment-required.ts';
import { signingTime } from './signing-clock.ts';

/** A signature over nothing that could be paid, and the salt that goes along with it. */
export interface CollectProof extends PaymentProof {
  salt: `0x${string}`;
}

export interface Collecting {
  client: Client;
  wallet: Wallet;
  listingId: number;
  expected: ExpectedPayment;
  /** The 402 to a request that only collects. */
  asked: unknown;
  x402Version?: X402Version | undefined;
}

const WINDOW_SECONDS = 120;

/**
 * Signs to show who asks: an authorization of value 0 whose nonce says for which goods at which market. It moves
 * nothing if it is submitted. Where a market does not take it, nothing else is signed in its place.
 */
export async function signCollecting(collecting: Collecting): Promise<CollectProof> {
  const { client, wallet, listingId, asked } = collecting;
  if (!(asked instanceof MarketError)) throw asked;
  const expected = { ...collecting.expected, amountUnits: 0n };
  const network = NETWORKS[expected.network];
  const salt = bytesToHex(client.environment.randomBytes(32));
  const baseUrl = marketAddress(client, asked.body());
  const nonce = collectNonce({
    ...{ baseUrl, chainId: network.chainId, listingId: BigInt(listingId), payer: wallet.address, salt },
  });
  const x402Version = collecting.x402Version ?? (asked.header('payment-required') === null ? 1 : 2);
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

const told = z.object({ collect: z.object({ base_url: z.string() }) });

/** Returns the address to sign for: the market's own name for itself, if the caller or the owner named it so; else the owner's or the caller's. */
function marketAddress(client: NamedMarket, body: unknown): string {
  const read = told.safeParse(body);
  if (!read.success) return client.callsItself ?? client.baseUrl;
  return nameToSignFor(client, read.data.collect.base_url);
}
