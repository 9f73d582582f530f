import { html } from 'ghtml';
import { unitsOfUsdc } from '../../../contract/money.ts';
import { describeNetwork } from '../../../contract/vocabulary.ts';
import type { MarketConfig } from '../../context.ts';
import { showNumber } from '../storefront/show-facts.ts';
import { showUnits } from './show-money.ts';
import type { TreasuryBody } from './treasury-body.ts';

/** The address, and what the books and the chain say of it, side by side. */
export function renderBalance(
  body: TreasuryBody,
  { explorerUrl, network }: Pick<MarketConfig, 'explorerUrl' | 'network'>,
): string {
  const { address, fees_count, fees_collected_usdc, usdc_balance_onchain: balance } = body;
  const collected = unitsOfUsdc(fees_collected_usdc) ?? 0n;
  const held = balance === null ? null : (unitsOfUsdc(balance) ?? 0n);
  return html`<section aria-labelledby="balance">
<h2 id="balance">Books and chain</h2>
<dl class="facts">
<dt>Address</dt><dd><code id="address">${address}</code> <span class="row"><button type="button" data-copy="address" hidden>Copy</button>!${explorerUrl === null ? '' : html`<a class="button" href="${explorerUrl}/address/${address}" rel="noopener">Look at it on the explorer</a>`}</span></dd>
<dt>Network</dt><dd>${describeNetwork(network)}</dd>
<dt>In the books</dt><dd><strong>${showUnits(collected)}</strong> from ${showNumber(fees_count)} ${fees_count === 1 ? 'fee' : 'fees'}</dd>
<dt>On the chain</dt><dd>!${held === null ? 'Not known at the moment' : html`<strong>${showUnits(held)}</strong>, at most some seconds old`}</dd>
</dl>
<p id="said" class="heard" role="status"></p>
!${renderAgreement(collected, held)}
</section>`;
}

function renderAgreement(collected: bigint, held: bigint | null): string {
  if (held === null) {
    return notice(
      'warn',
      'The chain does not answer just now, so they cannot be compared. The books do not depend on it: each fee below was proven when it was taken in.',
    );
  }
  if (held === collected) return notice('good', 'They agree: the address holds exactly what the books have taken in.');
  if (held > collected) {
    return notice(
      '',
      `The address holds ${showUnits(held - collected)} more than the books have taken in. Anybody can send money to it; what pays for no listing is in no book. A fee is taken in when its payment is final, so one that was just paid is not there yet.`,
    );
  }
  return notice(
    '',
    `The address holds ${showUnits(collected - held)} less than the books have taken in: so much was moved on from it. The books say what came in, and the chain where it went.`,
  );
}

function notice(kind: '' | 'good' | 'warn', text: string): string {
  return html`<div class="notice ${kind}"><p>${text}</p></div>`;
}
