export type WhyRefused =
  | 'price_above_limit'
  | 'unreadable_terms'
  | 'version_not_offered'
  | 'wrong_scheme'
  | 'wrong_network'
  | 'wrong_asset'
  | 'wrong_payee'
  | 'wrong_amount'
  | 'window_too_long'
  | 'wrong_domain'
  | 'wrong_intent'
  | 'other_market'
  | 'too_little_time'
  | 'not_goods';

/** Of goods; a thing of a city has none, and is bought by no single call. */
export function goodsOf({ artifact_commitment: commitment }: { artifact_commitment: string | null }): string {
  if (commitment !== null) return commitment;
  throw new TermsRefused('not_goods', 'the listing is a thing of the city: use buyThing');
}

/** What the market asks for is not what the buyer agreed to. Nothing was signed or sent that could move money. */
export class TermsRefused extends Error {
  override readonly name = 'TermsRefused';
  readonly why: WhyRefused;

  constructor(why: WhyRefused, detail: string, outcome = 'nothing was signed') {
    super(`${detail}; ${outcome}`);
    this.why = why;
  }
}
