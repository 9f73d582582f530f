import { unitsOfUsdc, usdcOfUnits } from '../../contract/money.ts';
import { DEFAULT_NETWORK, LISTING_FEE_UNITS, type Network } from '../../contract/vocabulary.ts';
import type { PaymentOptions, Terms } from './pursuit.ts';
import { TermsRefused } from './terms-refused.ts';

/** Options of every call that lists, be it goods or a thing. */
export interface FeeOptions extends PaymentOptions {
  /** The most that may be signed for. Default: the fee of `LISTING_FEE_UNITS`. */
  maxFeeUsdc?: number;
  /** Where the fee must go. Default: the treasury of the market's official facts. */
  treasury?: string;
  /** Default: that of `DEFAULT_NETWORK`. */
  network?: Network['name'];
}

/** What a listing fee may be at most, and to whom. */
export async function readFeeTerms(options: FeeOptions): Promise<Terms> {
  const network = options.network ?? DEFAULT_NETWORK.name;
  const { body: facts } = await options.client.getOfficialFacts({ signal: options.signal });
  if (facts.network !== network) throw new TermsRefused('wrong_network', `the market is not on ${network}`);
  const amountUnits = unitsOfUsdc(facts.listing_fee_usdc);
  const maxUnits = unitsOfUsdc(options.maxFeeUsdc ?? usdcOfUnits(LISTING_FEE_UNITS));
  if (amountUnits === null || maxUnits === null) throw new TermsRefused('unreadable_terms', 'the fee cannot be read');
  if (amountUnits > maxUnits) throw new TermsRefused('price_above_limit', 'the fee is above maxFeeUsdc');
  const payee = (options.treasury ?? facts.treasury) as `0x${string}`;
  return { expected: { payee, amountUnits, network }, artifactCommitment: null };
}
