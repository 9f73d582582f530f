import { NETWORKS } from '../../contract/vocabulary.ts';
import type { Offer } from '../offer.ts';
import { blocksToFinal, type PurchaseRecord } from '../purchase-record.ts';
import type { FoundWallet } from '../wallet-announcements.ts';
import { describeEstimate, describeMessage, formatClock, formatDuration } from '../wording.ts';
import { button, type Child, element, paragraph, renderVisibleLine } from './element.ts';
import type { View } from './view.ts';

export interface Step {
  name: string;
  state: 'done' | 'now' | 'later';
  says: string;
}

/** Describes the four steps of a payment, with the time that each took and an estimate of the rest. */
export function planSteps(record: PurchaseRecord, nowMs: number): Step[] {
  const { at, phase, final_about: about } = record;
  const since = (from: number | undefined): string => (from === undefined ? '' : formatDuration(nowMs - from));
  const took = (from: number | undefined, to: number): string =>
    from === undefined ? formatClock(to) : `took ${formatDuration(to - from)}`;
  const blocks = blocksToFinal(record);
  const name = blocks === null ? 'Final' : `${blocks.done} of ${blocks.of} blocks to final`;
  const left = about === null ? '' : `, ${describeEstimate(about - nowMs)} left`;
  const steps: [string, number | undefined, number | undefined, string][] = [
    ['Signed', at.begun, at.signed, phase === 'asking' ? 'waits for you' : ''],
    ['Settled', at.signed, at.settled, `under way for ${since(at.signed)}`],
    [at.final === undefined ? name : 'Final', at.settled, at.final, `for ${since(at.settled)}${left}`],
    ['Delivered', at.final, at.delivered, `for ${since(at.final)}`],
  ];
  const current = steps.findIndex(([, , done]) => done === undefined);
  return steps.map(([words, from, done, running], index): Step => {
    if (done !== undefined) {
      return { name: words, state: 'done', says: index === 0 ? `at ${formatClock(done)}` : took(from, done) };
    }
    return index === current
      ? { name: words, state: 'now', says: running }
      : { name: words, state: 'later', says: 'to come' };
  });
}

const STATE_WORDS = { done: 'done', now: 'now', later: 'to come' } as const;

export interface ShownSteps {
  node: HTMLElement;
  /** Updates only the times. */
  tick(nowMs: number): void;
}

export function showSteps(record: PurchaseRecord, nowMs: number): ShownSteps {
  const says: HTMLElement[] = [];
  const items = planSteps(record, nowMs).map(({ name, state, says: words }) => {
    const time = element('span', { class: 'took' }, words);
    says.push(time);
    const heard = element('span', { class: 'heard' }, ` (${STATE_WORDS[state]}) `);
    return element(
      'li',
      { class: state, ...(state === 'now' ? { 'aria-current': 'step' } : {}) },
      element('strong', {}, name),
      heard,
      time,
    );
  });
  return {
    node: element('ol', { class: 'steps', 'aria-label': 'Progress of the payment' }, ...items),
    tick: (ms) => {
      for (const [index, { says: words }] of planSteps(record, ms).entries()) {
        const place = says[index];
        if (place !== undefined && place.textContent !== words) place.textContent = words;
      }
    },
  };
}

export function showTransfer(record: PurchaseRecord, offer: Offer): HTMLElement | null {
  if (record.transfer === null) return null;
  const { tx_hash: hash, block } = record.transfer;
  const shown = element('code', {}, hash);
  const link =
    offer.explorer_url === null
      ? shown
      : element('a', { href: `${offer.explorer_url}/tx/${hash}`, rel: 'noopener' }, shown);
  return element('p', { class: 'transfer' }, 'Transaction ', link, block === null ? '' : `, in block ${block}`);
}

/** True if a transfer is seen or the goods were paid for. False proves nothing, because a signed payment may still be executed. */
export function isPaid(record: PurchaseRecord | null): boolean {
  if (record === null || record.nothing_due) return false;
  return record.transfer !== null || (record.phase === 'bought' && record.payer !== null);
}

const PAID = 'You have paid. Do not pay again.';
const SIGNED = 'You have signed. The payment may be carried out at any moment: sign nothing else for these goods.';

/** Renders what the buyer must know about the money. Null if none is at stake. */
export function showMoney(record: PurchaseRecord | null): HTMLElement | null {
  if (isPaid(record)) return element('p', { class: 'money paid' }, PAID);
  return record?.phase === 'paying' ? element('p', { class: 'money' }, SIGNED) : null;
}

type Confirm = Extract<View, { kind: 'confirm' }>;

/** Shows the message to sign, both explained and in full. */
export function showConfirm(view: Confirm, offer: Offer, nowMs: number): Child[] {
  const { message, purpose, isRenewed, aheadMs, yes, no } = view;
  const pays = purpose === 'pay';
  // Check the message itself, because only one that moves nothing may be called harmless.
  const isZeroValue = message.message.value === '0';
  const rows = describeMessage(message, offer, nowMs + aheadMs)
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
    pays || !isZeroValue
      ? null
      : paragraph(
          'This shows whose wallet it is; whether these goods are its own already is seen after that. The wallet shows the same kind of message as for a payment, with an amount of 0: it could move nothing in any hands, and it serves for these goods at this market alone. No money moves.',
        ),
    element('dl', { class: 'facts' }, ...rows),
    paragraph('Amount and receiver of what you sign cannot be changed, and it works once. Your wallet pays no gas.'),
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

type Wallets = Extract<View, { kind: 'wallets' }>;

export function showWallets({ text, wallets, hasSearched, choose, others }: Wallets, offer: Offer): Child[] {
  const row =
    others.length === 0
      ? null
      : element('div', { class: 'row' }, ...others.map(({ words, act }) => button(words, act)));
  if (wallets.length === 0) {
    return hasSearched
      ? [...showNoWallets(offer), row]
      : [element('p', { class: 'quiet' }, 'Looking for wallets in this browser.')];
  }
  return [
    paragraph(text),
    element(
      'ul',
      { class: 'wallets' },
      ...wallets.map((wallet, index) => element('li', {}, showWallet(wallet, `wallet-${index}`, choose))),
    ),
    row,
  ];
}

function showWallet(wallet: FoundWallet, id: string, choose: (wallet: FoundWallet) => void): HTMLElement {
  const made = button('', () => choose(wallet), { class: 'wallet', id });
  if (wallet.icon !== null) made.append(element('img', { src: wallet.icon, alt: '', width: 28, height: 28 }));
  made.append(renderVisibleLine(wallet.name));
  return made;
}

function showNoWallets(offer: Offer): Child[] {
  return [
    paragraph(
      `A wallet is a program that keeps your keys, most often an extension of the browser. None has announced itself here. Install one that you trust, put USDC on ${NETWORKS[offer.network].displayName} into it, and load this page again.`,
    ),
    paragraph(
      'On a telephone, open this page in the browser inside your wallet. The ',
      element('a', { href: `/listing/${offer.id}#how` }, 'other ways to buy'),
      ' need no wallet in the browser.',
    ),
  ];
}
