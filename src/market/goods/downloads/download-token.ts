import { DOWNLOAD_TOKEN_MINUTES } from '../../../contract/uploads.ts';
import { sha256 } from '../../../platform/canonical-json.ts';
import type { Hex } from '../../../platform/hex.ts';
import { Refusal } from '../../../platform/refusal.ts';
import { isDownloadToken, makeDownloadToken } from '../../../platform/secrets.ts';
import type { Market } from '../../context.ts';
import { findTokenPayer, insertToken, pruneTokens } from './store.ts';

const TOKEN_MS = DOWNLOAD_TOKEN_MINUTES * 60_000;
const PRUNED_AT_ONCE = 100;

type Issuing = Pick<Market, 'config' | 'database' | 'clock' | 'random'>;

export interface IssuedToken {
  token: string;
  expiresAt: Date;
}

/** Makes a token that stands for a signature of this payer, so that a long download needs no second one. */
export async function issueDownloadToken(market: Issuing, listingId: bigint, payer: Hex): Promise<IssuedToken> {
  const { config, database, clock, random } = market;
  const token = makeDownloadToken(random, config.keyPrefix);
  const expiresAt = new Date(clock.now() + TOKEN_MS);
  await pruneTokens(database, new Date(clock.now()), PRUNED_AT_ONCE);
  await insertToken(database, { hash: hashOf(token), listingId, payer, expiresAt });
  return { token, expiresAt };
}

/** Returns the payer who signed for these goods. The caller still checks what that payer may collect now. */
export async function readDownloadToken(
  { config, database, clock }: Pick<Market, 'config' | 'database' | 'clock'>,
  token: string,
  listingId: bigint,
): Promise<Hex> {
  const payer = isDownloadToken(token, config.keyPrefix)
    ? await findTokenPayer(database, { hash: hashOf(token), listingId, now: new Date(clock.now()) })
    : null;
  if (payer !== null) return payer;
  throw new Refusal('sign_to_collect', {
    detail: `The download token has ended, or is none for these goods. It lasts ${DOWNLOAD_TOKEN_MINUTES} minutes.`,
  });
}

function hashOf(token: string): Buffer {
  return sha256('download-token\0', token);
}
