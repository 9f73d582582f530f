import type { AsyncCommand } from 'fast-check';
import type { TestAccount } from '../../../src/local/chain/accounts.ts';
import type { Hex } from '../../../src/platform/hex.ts';
import { type Member, signProof } from '../../support/market-world.ts';
import { authorizationName } from '../model-chain.ts';
import type { Reference } from '../reference.ts';
import type { Run, SentProof } from '../run.ts';
import type { Listing } from '../terms.ts';

/** One act of a participant. Its text describes it in a failing run. */
export abstract class Act<Given extends object> implements AsyncCommand<Reference, Run> {
  protected readonly given: Given;

  constructor(given: Given) {
    this.given = given;
  }

  check(): boolean {
    return true;
  }

  abstract run(reference: Reference, run: Run): Promise<void>;

  toString(): string {
    return `${this.constructor.name} ${JSON.stringify(this.given)}`;
  }
}

export const at = <T>(all: readonly T[], nth: number): T | undefined =>
  all.length === 0 ? undefined : all[nth % all.length];
/** Picks by age, newest first, because the newest item is most often used next. */
export const recent = <T>(all: readonly T[], nth: number): T | undefined => at(all.toReversed(), nth);
export const buyerOf = (run: Run, who: number): Member | null => run.buyers[who] ?? null;
export const listingOf = (run: Run, nth: number): Listing => at(run.listings, nth) ?? never();
export const walletOf = (run: Run, nth: number): TestAccount => at(run.wallets, nth) ?? never();
export function never(): never {
  throw new TypeError('there is none');
}

export interface ToSign {
  payee: Hex;
  units: bigint;
  /** Listing to buy. Null for a fee. */
  listing: Listing | null;
  /** Validity of the signature in seconds. */
  ahead: number;
}

export async function sign(run: Run, payer: TestAccount, { payee, units, listing, ahead }: ToSign): Promise<SentProof> {
  const resource = listing === null ? 'none' : run.resourceOf(listing);
  const asked = { payTo: payee, units, resource, now: run.stage.now(), secondsAhead: ahead };
  const signed = await signProof(run.stage.chain, payer, asked);
  const { nonce, validBefore } = signed.authorization;
  const terms = {
    payer: payer.address,
    payee,
    units,
    authorization: authorizationName(payer.address, nonce),
    validBefore: Number(validBefore),
    resource: listing?.name ?? 'none',
  };
  const made = { terms, signed };
  run.proofs.push(made);
  return made;
}
