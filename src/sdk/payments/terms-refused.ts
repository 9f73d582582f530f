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
  | 'wrong_domain';

/** What the market asks to be signed is not what the buyer agreed to. Nothing was signed. */
export class TermsRefused extends Error {
  override readonly name = 'TermsRefused';
  readonly why: WhyRefused;

  constructor(why: WhyRefused, detail: string) {
    super(`${detail}; nothing was signed`);
    this.why = why;
  }
}
