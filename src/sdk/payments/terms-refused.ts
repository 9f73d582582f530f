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
  | 'too_little_time';

/** What the market asks for is not what the buyer agreed to. Nothing was signed or sent that could move money. */
export class TermsRefused extends Error {
  override readonly name = 'TermsRefused';
  readonly why: WhyRefused;

  constructor(why: WhyRefused, detail: string, outcome = 'nothing was signed') {
    super(`${detail}; ${outcome}`);
    this.why = why;
  }
}
