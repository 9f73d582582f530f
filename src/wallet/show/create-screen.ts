import { NETWORKS } from '../../contract/vocabulary.ts';
import type { Offer } from '../offer.ts';
import type { PurchaseRecord } from '../purchase-record.ts';
import { formatClock } from '../wording.ts';
import { button, type Child, element, paragraph } from './element.ts';
import { showGoods } from './show-goods.ts';
import { type ShownSteps, showConfirm, showMoney, showSteps, showTransfer, showWallets } from './show-purchase.ts';
import { type Action, titleOf, UNSAFE_WORDS, type View } from './view.ts';

export interface Screen {
  /** `isAct` is true if the user's action led here, so that the focus moves to the new content. */
  show(view: View, isAct?: boolean): void;
  kind(): View['kind'] | null;
}

const TICK_MS = 1_000;

export function createScreen(root: HTMLElement, offer: Offer, now: () => number): Screen {
  const said = element('p', { class: 'heard', role: 'status' });
  const progress = element('div', { class: 'progress' });
  const stage = element('section', { class: 'stage', 'aria-labelledby': 'stage-title' });
  root.replaceChildren(said, progress, stage);
  let steps: ShownSteps | null = null;
  let shown: View['kind'] | null = null;
  setInterval(() => steps?.tick(now()), TICK_MS);
  return {
    kind: () => shown,
    show: (view, isAct = false) => {
      const record = recordOf(view);
      const restoreFocus = rememberFocus(root);
      const isOpen = isMessageOpen();
      const hasSteps = record !== null && (record.at.signed !== undefined || isAgreeing(view));
      steps = hasSteps ? showSteps(record, now()) : null;
      progress.replaceChildren(
        ...withoutNull([steps?.node ?? null, showMoney(record), record && showTransfer(record, offer)]),
      );
      const title = titleOf(view);
      const heading = element('h2', { id: 'stage-title', tabindex: -1 }, title);
      stage.replaceChildren(heading, ...withoutNull(contentOf(view, offer, now())));
      stage.dataset['kind'] = view.kind;
      if (isOpen) document.getElementById('whole')?.setAttribute('open', '');
      if (said.textContent !== title) said.textContent = title;
      if (isAct && shown !== view.kind) heading.focus();
      else restoreFocus(root);
      shown = view.kind;
    },
  };
}

/** Whether the full message is open, so that it stays open when it is rebuilt. */
function isMessageOpen(): boolean {
  return document.getElementById('whole')?.hasAttribute('open') ?? false;
}

/** Returns a function that restores the focus after the content was rebuilt. */
function rememberFocus(root: HTMLElement): (root: HTMLElement) => void {
  const active = document.activeElement;
  if (active === null || !root.contains(active)) return () => {};
  const id = active.id;
  const link = active.closest('.transfer') === null ? null : '.transfer a';
  return () => {
    const next = id === '' ? (link === null ? null : root.querySelector(link)) : document.getElementById(id);
    const target = next ?? document.getElementById('stage-title');
    if (target instanceof HTMLElement) target.focus();
  };
}

function withoutNull(children: readonly Child[]): (Node | string)[] {
  return children.filter((child) => child !== null);
}

function recordOf(view: View): PurchaseRecord | null {
  return 'record' in view ? view.record : null;
}

/** Whether the user is agreeing to a payment, for which the steps ahead are shown. */
function isAgreeing(view: View): boolean {
  return view.kind === 'confirm' && view.purpose === 'pay';
}

function contentOf(view: View, offer: Offer, nowMs: number): Child[] {
  switch (view.kind) {
    case 'unsafe':
      return [
        paragraph(UNSAFE_WORDS[view.missing]),
        paragraph(
          'Nothing was signed. The ',
          element('a', { href: `/listing/${offer.id}#how` }, 'other ways to buy'),
          ' work.',
        ),
      ];
    case 'waiting':
      return [paragraph(view.text)];
    case 'free':
      return [
        paragraph('It costs nothing. No wallet is needed, nothing is signed, and nothing about you is recorded.'),
        element('div', { class: 'row' }, button('Get it', view.get, { class: 'main', id: 'get' })),
      ];
    case 'closed':
      return showClosed(view, offer);
    case 'wallets':
      return showWallets(view, offer);
    case 'confirm':
      return showConfirm(view, offer, nowMs);
    case 'progress':
      return showProgress(view.record, offer);
    case 'elsewhere':
      return [
        paragraph(
          'Another tab of this browser has this purchase in hand. What happens there is shown here. When that tab is closed, this one goes on by itself.',
        ),
      ];
    case 'trouble':
      return showTrouble(view, nowMs);
    case 'sign_to_read':
      return [
        paragraph(
          'You bought these goods. This time the market wants to see by a signature that you are who paid; it moves no money.',
        ),
        element(
          'div',
          { class: 'row' },
          button('Sign to collect', view.sign, { class: 'main', id: 'collect' }),
          button('Forget this purchase', view.forget, { id: 'forget' }),
        ),
      ];
    case 'goods':
      return showGoods(view);
  }
}

function showClosed({ collect }: Extract<View, { kind: 'closed' }>, offer: Offer): Child[] {
  const back = element('a', { class: 'button', href: `/listing/${offer.id}` }, 'Back to the listing');
  return [
    paragraph('These goods cannot be bought any more. Who bought them before keeps what they bought.'),
    element('div', { class: 'row' }, collect === undefined ? null : button(collect.words, collect.act), back),
  ];
}

function showProgress({ silent_since: silent }: PurchaseRecord, offer: Offer): Child[] {
  const quiet =
    silent === null
      ? null
      : element(
          'p',
          { class: 'notice warn' },
          `No answer from the market since ${formatClock(silent)}. It is asked again by itself, with the same signature; nothing is lost.`,
        );
  return [
    quiet,
    paragraph(
      `The goods are handed over once the transfer is final on ${NETWORKS[offer.network].displayName}. You may close this page: it goes on from here when you come back with this browser.`,
    ),
  ];
}

function showTrouble({ trouble, actions }: Extract<View, { kind: 'trouble' }>, nowMs: number): Child[] {
  const { what, money, todo, reason } = trouble;
  return [
    what === '' ? null : paragraph(what),
    element('p', { class: 'moved' }, element('strong', {}, money)),
    paragraph(todo),
    element('div', { class: 'row' }, ...actions.map((action) => showAction(action, nowMs))),
    reason === null
      ? null
      : element(
          'p',
          { class: 'quiet' },
          'The reason is called ',
          element('a', { href: `/docs/errors/${reason}` }, reason),
          '.',
        ),
  ];
}

function showAction({ words, act, isMain, fromMs }: Action, nowMs: number): HTMLButtonElement {
  const made = button(words, act, isMain === true ? { class: 'main' } : {});
  if (fromMs === undefined || fromMs <= nowMs) return made;
  made.disabled = true;
  made.textContent = `${words}, from ${formatClock(fromMs)} on`;
  setTimeout(() => {
    made.disabled = false;
    made.textContent = words;
  }, fromMs - nowMs);
  return made;
}
