import type { Deal } from '../deal.ts';
import { blocksToFinal } from '../keep/follow-progress.ts';
import type { PurchaseRecord } from '../keep/purchase-record.ts';
import { element } from './element.ts';
import { sayClock, sayDuration, sayEstimate } from './say-time.ts';

export interface Step {
  name: string;
  state: 'done' | 'now' | 'later';
  says: string;
}

/** The four steps of a payment, with the time each took and an honest word about the rest. */
export function planSteps(record: PurchaseRecord, nowMs: number): Step[] {
  const { at, phase, final_about: about } = record;
  const since = (from: number | undefined): string => (from === undefined ? '' : sayDuration(nowMs - from));
  const took = (from: number | undefined, to: number): string =>
    from === undefined ? sayClock(to) : `took ${sayDuration(to - from)}`;
  const blocks = blocksToFinal(record);
  const name = blocks === null ? 'Final' : `${blocks.done} of ${blocks.of} blocks to final`;
  const left = about === null ? '' : `, ${sayEstimate(about - nowMs)} left`;
  const steps: [string, number | undefined, number | undefined, string][] = [
    ['Signed', at.begun, at.signed, phase === 'asking' ? 'waits for you' : ''],
    ['Settled', at.signed, at.settled, `under way for ${since(at.signed)}`],
    [at.final === undefined ? name : 'Final', at.settled, at.final, `for ${since(at.settled)}${left}`],
    ['Delivered', at.final, at.delivered, `for ${since(at.final)}`],
  ];
  const current = steps.findIndex(([, , done]) => done === undefined);
  return steps.map(([words, from, done, running], index): Step => {
    if (done !== undefined) {
      return { name: words, state: 'done', says: index === 0 ? `at ${sayClock(done)}` : took(from, done) };
    }
    return index === current
      ? { name: words, state: 'now', says: running }
      : { name: words, state: 'later', says: 'to come' };
  });
}

const STATE_WORDS = { done: 'done', now: 'now', later: 'to come' } as const;

export interface ShownSteps {
  node: HTMLElement;
  /** Only the words about time change. */
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

/** The transaction, linked where this market names an explorer. */
export function showTransfer(record: PurchaseRecord, deal: Deal): HTMLElement | null {
  if (record.transfer === null) return null;
  const { tx_hash: hash, block } = record.transfer;
  const shown = element('code', {}, hash);
  const link =
    deal.explorer_url === null
      ? shown
      : element('a', { href: `${deal.explorer_url}/tx/${hash}`, rel: 'noopener' }, shown);
  return element('p', { class: 'transfer' }, 'Transaction ', link, block === null ? '' : `, in block ${block}`);
}

/** True while a transfer is seen or the goods were paid for; before that a signature is out and may still become one. */
export function isPaid(record: PurchaseRecord | null): boolean {
  return record !== null && (record.transfer !== null || (record.phase === 'bought' && record.payer !== null));
}

export const PAID = 'You have paid. Do not pay again.';
const SIGNED = 'You have signed. The payment may be carried out at any moment: sign nothing else for these goods.';

/** What to remember about money; nothing where none is at stake. */
export function showMoney(record: PurchaseRecord | null): HTMLElement | null {
  if (isPaid(record)) return element('p', { class: 'money paid' }, PAID);
  return record?.phase === 'paying' ? element('p', { class: 'money' }, SIGNED) : null;
}
