import type { Deal } from '../deal.ts';
import { sayMessage } from '../messages/say-message.ts';
import { button, type Child, element } from './element.ts';
import type { View } from './view.ts';

type Confirm = Extract<View, { kind: 'confirm' }>;

/** What will be signed, in words and whole. */
export function showConfirm({ message, purpose, isRenewed, yes, no }: Confirm, deal: Deal, nowMs: number): Child[] {
  const pays = purpose === 'pay';
  // Said of a message that could move nothing, and of no other: it is read from what is signed.
  const isWithoutValue = message.message.value === '0';
  const rows = sayMessage(message, deal, nowMs)
    .map(([name, value]): [string, string] => [pays || name !== 'You pay' ? name : 'Amount in it', value])
    .flatMap(([name, value]) => [
      element('dt', {}, name),
      element(
        'dd',
        {},
        element(
          'bdi',
          { class: name === 'You pay' ? 'price' : name === 'From' || name === 'To' ? 'machine' : null },
          value,
        ),
      ),
    ]);
  const renewed = 'The message that stood here got too old to be used. This one is new; nothing was signed before.';
  return [
    isRenewed ? element('p', { class: 'renewed' }, renewed) : null,
    pays || !isWithoutValue
      ? null
      : element(
          'p',
          {},
          'This shows whose wallet it is; whether it has paid for these goods is seen after that. The wallet shows the same kind of message as for a payment, with an amount of 0: it could move nothing, whoever had it, and it serves for these goods at this market alone. No money moves.',
        ),
    element('dl', { class: 'facts' }, ...rows),
    element(
      'p',
      {},
      'Amount and receiver of what you sign cannot be changed, and it works once. Your wallet pays no gas.',
    ),
    element(
      'details',
      { class: 'whole', id: 'whole' },
      element('summary', {}, 'The whole message, as it goes to the wallet'),
      element(
        'pre',
        { tabindex: 0, role: 'region', 'aria-label': 'The whole message', id: 'message' },
        JSON.stringify(message, null, 2),
      ),
    ),
    element(
      'div',
      { class: 'row' },
      button(pays ? 'Sign in the wallet' : 'Sign to collect', yes, { class: 'main', id: 'sign' }),
      button('Stop', no, { id: 'stop' }),
    ),
  ];
}
